"""Where settings, locks and Dagster's instance file come from: the project first, then what the package brings."""

from pathlib import Path

import pytest

from lakehouse.settings import SettingsError, load_settings, shipped
from lakehouse.settings.shipped import SELECTION, conf_of_clone, default_conf, instance_file, locked_jars
from lakehouse_tests.fixtures.broker import REPOSITORY


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / SELECTION).touch()
    return tmp_path


def test_in_a_clone_there_is_one_copy_of_each_file() -> None:
    for name in ("conf", "dagster.yaml", "workspace.yaml"):
        assert shipped.shipped(name).resolve() == REPOSITORY / name


def test_a_project_is_known_by_its_settings_from_every_folder_in_it(project: Path) -> None:
    (project / "notebooks" / "deep").mkdir(parents=True)
    assert default_conf(project / "notebooks" / "deep") == default_conf(project) == project / "conf"


def test_outside_of_projects_a_clone_uses_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings(environ={}).conf == conf_of_clone() == REPOSITORY / "conf"


def test_outside_of_projects_a_wheel_says_how_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "conf_of_clone", lambda: None)
    with pytest.raises(SettingsError, match=rf"no conf/lakehouse.yaml in {tmp_path}.*`lakehouse init DIR`"):
        default_conf(tmp_path)


def test_a_project_may_lock_jars_of_its_own(project: Path) -> None:
    conf = project / "conf"
    assert locked_jars(conf, "jars").samefile(REPOSITORY / "conf" / "jars")
    (conf / "jars").mkdir()
    assert locked_jars(conf, "jars") == conf / "jars"
    assert locked_jars(conf, "broker").samefile(REPOSITORY / "conf" / "broker")


def test_a_project_may_set_up_dagster_its_own_way(project: Path) -> None:
    assert instance_file(project / "conf").samefile(REPOSITORY / "dagster.yaml")
    (project / "dagster.yaml").touch()
    assert instance_file(project / "conf") == project / "dagster.yaml"


@pytest.mark.parametrize("place", ["folder", "loop", "dangling"])
def test_settings_that_cannot_be_read_are_not_passed_over(tmp_path: Path, place: str) -> None:
    """Those of a folder above, or of the clone, are of another lake."""
    file = tmp_path / "conf" / SELECTION
    file.parent.mkdir()
    if place == "folder":
        file.mkdir()
    else:
        file.symlink_to(SELECTION if place == "loop" else "nowhere")
    assert default_conf(tmp_path) == tmp_path / "conf"
    with pytest.raises(SettingsError, match=str(file)):
        load_settings(tmp_path / "conf", {})
