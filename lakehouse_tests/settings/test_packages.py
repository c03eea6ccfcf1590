"""Packages of declarations are found by name, without running a line of them."""

from pathlib import Path

import pytest

from lakehouse.settings.error import SettingsError
from lakehouse.settings.packages import importable_name, package_folder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a package `roost.declared`, in which everything fails that is run."""
    folder = tmp_path / "roost" / "declared"
    folder.mkdir(parents=True)
    for file in (folder.parent / "__init__.py", folder / "__init__.py", folder / "birds.py"):
        file.write_text("raise RuntimeError\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_a_package_has_a_folder_and_its_files_have_names(package: Path) -> None:
    assert package_folder("package=roost.declared", "conf").samefile(package)
    assert importable_name(package / "birds.py") == "roost.declared.birds"


def test_what_is_no_package_is_refused_by_its_name(package: Path) -> None:
    for name in ("roost.nothing", "roost.declared.birds", "no_such_package"):
        with pytest.raises(SettingsError, match=rf"conf: there is no package {name}"):
            package_folder(f"package={name}", "conf")


def test_a_file_that_python_would_not_find_by_that_name_is_none_of_a_package(package: Path, tmp_path: Path) -> None:
    apart = tmp_path / "elsewhere" / "roost"
    apart.mkdir(parents=True)
    for file in (apart / "__init__.py", apart / "declared.py"):
        file.write_text("")
    assert importable_name(apart / "declared.py") is None
    (apart / "__init__.py").unlink()
    assert importable_name(apart / "declared.py") is None, "a folder without __init__.py"
