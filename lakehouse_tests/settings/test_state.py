"""Local state is open to its owner alone."""

import os
import stat
from pathlib import Path

import pytest

from lakehouse.settings import SettingsError
from lakehouse.settings.state import StateFolder, make_private


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _open_handed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_a_new_one_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        StateFolder(tmp_path / "a" / "state").make()
        make_private(tmp_path / "b" / "logs")
        make_private(tmp_path / "b" / "logs")
    finally:
        os.umask(before)
    assert [mode(tmp_path / name) for name in ("a", "a/state", "b", "b/logs")] == [0o700] * 4
    assert mode(tmp_path) == 0o755


def test_that_of_an_earlier_version_is_closed(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    state.make()
    assert mode(tmp_path) == 0o755, "it never held a lake"
    state.catalog_db.touch()
    state.make()
    assert mode(tmp_path) == 0o700


def test_one_that_is_shared_on_purpose_stays_so(tmp_path: Path) -> None:
    StateFolder(tmp_path).catalog_db.touch()
    tmp_path.chmod(0o2770)
    StateFolder(tmp_path).make()
    assert mode(tmp_path) == 0o2770


def test_a_file_in_its_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(SettingsError, match=f"{tmp_path}/state is no folder.*LAKEHOUSE_HOME"):
        StateFolder(tmp_path / "state").make()
