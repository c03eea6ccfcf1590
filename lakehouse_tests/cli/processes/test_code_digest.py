"""Who judges: whatever may change what a rule means makes another judge of it."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from lakehouse.cli.processes.code_digest import code_digest
from lakehouse.settings import Settings, load_settings

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    conf = tmp_path / "conf"
    shutil.copytree(REPOSITORY / "conf", conf)
    (conf / "declarations").mkdir(exist_ok=True)
    return load_settings(conf, {})


def test_it_is_the_same_as_long_as_nothing_is_written(settings: Settings) -> None:
    before = code_digest(settings)
    (settings.conf / "declarations" / "__pycache__").mkdir()
    (settings.conf / "declarations" / "__pycache__" / "rules.pyc").write_text("compiled")
    assert code_digest(settings) == before


@pytest.mark.parametrize("name", ["declarations/rules.py", "declarations/allowed.csv", "more.yaml"])
def test_a_file_of_the_declarations_that_differs_makes_another(settings: Settings, name: str) -> None:
    file = settings.conf / name
    file.write_text("1")
    before, written = code_digest(settings), file.stat()
    file.write_text("2")
    os.utime(file, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert code_digest(settings) != before, "the same size and time, and another text"


def test_parameters_make_another(settings: Settings) -> None:
    assert code_digest(settings.model_copy(update={"parameters": {"most": 2}})) != code_digest(settings)


def test_a_module_that_declarations_import_makes_another(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "shared"
    elsewhere.mkdir()
    (elsewhere / "rules_of_a_team.py").write_text("LEAST = 1\n")
    monkeypatch.syspath_prepend(str(elsewhere))
    __import__("rules_of_a_team")
    try:
        before = code_digest(settings)
        (elsewhere / "rules_of_a_team.py").write_text("LEAST = 2\n")
        assert code_digest(settings) != before
    finally:
        del sys.modules["rules_of_a_team"]


def test_another_version_of_a_library_makes_another(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = code_digest(settings)
    known = tmp_path / "site" / "pandera-99.dist-info"
    known.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    of_another_version = code_digest(settings)
    assert of_another_version != before
    (known / "RECORD").write_text("pandera/checks.py,sha256=abc,12\n")
    assert code_digest(settings) not in {before, of_another_version}, "built again, from other files"
