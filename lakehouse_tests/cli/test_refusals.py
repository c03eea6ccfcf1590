"""What disk, system or catalog refuse is one line; with `--verbose` the traceback of a system's refusal is there."""

from pathlib import Path

import pytest

from lakehouse.cli.context import Context
from lakehouse.cli.refusals import SystemRefused, refusal_of
from lakehouse.settings.storage_refusal import StorageRefused


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAKEHOUSE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_state_folder_that_is_full_is_named(home: Path) -> None:
    refusal = refusal_of(OSError(28, "No space left on device", str(home / "logs" / "x")), Context())
    assert isinstance(refusal, StorageRefused)
    assert refusal.message == f"The state folder {home} is full."


@pytest.mark.usefixtures("home")
def test_a_file_that_is_elsewhere_is_named_itself(tmp_path: Path) -> None:
    refusal = refusal_of(PermissionError(13, "Permission denied", str(tmp_path / "backup")), Context())
    assert isinstance(refusal, SystemRefused)
    assert refusal.message == f"{tmp_path / 'backup'}: Permission denied."


@pytest.mark.usefixtures("home")
def test_who_wants_to_see_every_step_sees_where_it_was() -> None:
    error = FileNotFoundError(2, "No such file or directory", "/no/such")
    assert refusal_of(error, Context(verbose=True)) is None
    assert isinstance(refusal_of(error, Context()), SystemRefused)


@pytest.mark.usefixtures("home")
def test_an_error_of_the_program_keeps_its_traceback() -> None:
    assert refusal_of(ZeroDivisionError("bug"), Context()) is None
    assert refusal_of(ZeroDivisionError("bug"), None) is None


def test_an_error_is_not_hidden_by_settings_that_cannot_be_read(tmp_path: Path) -> None:
    assert refusal_of(OSError(2, "No such file or directory"), Context(conf=tmp_path)) is None
