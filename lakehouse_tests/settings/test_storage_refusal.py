"""A disk that is full or read-only is recognised, whatever its error has become on the way."""

import errno
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

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
