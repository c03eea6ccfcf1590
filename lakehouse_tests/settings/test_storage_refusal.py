"""A disk that is full or read-only is recognised, whatever its error has become on the way."""

import errno
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import OperationalError

from lakehouse.cli.commands.run.run import require_storage
from lakehouse.settings.storage_refusal import StorageRefused, storage_refusal

REFUSALS = {
    "of the system": (OSError(errno.ENOSPC, "No space left on device"), "is full"),
    "of a worker": (RuntimeError("OSError: [Errno 28] No space left on device"), "is full"),
    "of SQLite": (OperationalError("", None, sqlite3.OperationalError("database or disk is full")), "is full"),
    "read-only": (OSError(errno.EROFS, "Read-only file system"), "is read-only"),
    "of a read-only SQLite": (sqlite3.OperationalError("attempt to write a readonly database"), "is read-only"),
    "of rights": (PermissionError(errno.EACCES, "Permission denied"), "may not be written to"),
}


@pytest.mark.parametrize(("error", "refusal"), REFUSALS.values(), ids=REFUSALS)
def test_it_is_recognised_below_other_errors(error: Exception, refusal: str) -> None:
    outer = RuntimeError("it did not work")
    outer.__cause__ = error
    assert storage_refusal(error) == storage_refusal(outer) == refusal
    assert str(StorageRefused("The disk", refusal)).startswith(f"The disk {refusal}. Remedy: ")


def test_other_errors_are_not_the_disks() -> None:
    assert storage_refusal(FileNotFoundError(errno.ENOENT, "No such file")) is None
    assert storage_refusal(ZeroDivisionError("bug")) is None


def test_a_file_system_that_takes_nothing() -> None:
    with pytest.raises(OSError, match=r".") as caught:
        Path("/sys/lakehouse").mkdir()
    assert storage_refusal(caught.value) is not None


def test_a_log_that_cannot_grow_is_a_full_disk_where_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What SQLite says of both; seen on a disk that was full."""
    error = OperationalError("", None, sqlite3.OperationalError("disk I/O error"))
    assert storage_refusal(error) is None
    assert storage_refusal(error, tmp_path) is None, "a broken disk keeps its traceback"
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=4096))
    assert storage_refusal(error, tmp_path) == "is full"


def test_steps_that_failed_for_want_of_a_disk_break_no_promise(tmp_path: Path) -> None:
    require_storage(["the inputs do not agree"], tmp_path)
    with pytest.raises(StorageRefused, match=rf"The state folder {tmp_path} is full\. Remedy: free some space"):
        require_storage(["the inputs do not agree", "OSError: [Errno 28] No space left on device"], tmp_path)
