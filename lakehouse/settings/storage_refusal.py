"""A disk that is full or read-only, recognised at the root of whatever error that has become."""

import errno
import shutil
from pathlib import Path

from lakehouse.errors import LakehouseError, with_causes

_FULL = "is full"
_NUMBERS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: "has no quota left",
    errno.EROFS: "is read-only",
    errno.EACCES: "may not be written to",
    errno.EPERM: "may not be written to",
}
_WORDS = {  # of SQLite, and of errors that come as text from a worker of Spark
    "database or disk is full": _FULL,
    "No space left on device": _FULL,
    "Disk quota exceeded": "has no quota left",
    "attempt to write a readonly database": "is read-only",
    "Read-only file system": "is read-only",
    "unable to open database file": "may not be written to",
}
_AMBIGUOUS = "disk I/O error"  # of SQLite: a write-ahead log that cannot grow, or a broken disk
_ROOM = 1024**2  # bytes; with less SQLite cannot make a log anew
_REMEDIES = {
    _FULL: "free some space there",
    "has no quota left": "free some space there",
    "is read-only": "make it writable",
    "may not be written to": "let this user write there",
}


class StorageRefused(LakehouseError):
    """A disk takes nothing: it is full, read-only, or not ours to write to."""

    def __init__(self, what: str, refusal: str) -> None:
        """Say what cannot be written.

        Args:
            what: the beginning of a sentence; it names the disk, a folder, or whose files are there.
            refusal: its end, as `storage_refusal` says it.
        """
        remedy = f"{_REMEDIES[refusal]}, or set LAKEHOUSE_HOME to a folder elsewhere; then run it again"
        super().__init__(f"{what} {refusal}.", remedy=remedy)

    @classmethod
    def of_state(cls, root: Path, refusal: str) -> "StorageRefused":
        """The same of the state folder, or of the disk mounted in it that is full."""
        full = full_disk(root) if refusal == _FULL else None
        return cls(f"The state folder {root}" if full in (None, root) else f"The disk {full}", refusal)


def storage_refusal(error: BaseException, folder: Path | None = None) -> str | None:
    """What is the matter with the disk, as the end of a sentence; None if that is not what the error is about.

    Args:
        error: with its causes.
        folder: whose disk, and the disks mounted in it, are asked for room where the words leave it open.
    """
    for cause in with_causes(error):
        if isinstance(cause, OSError) and cause.errno in _NUMBERS:
            return _NUMBERS[cause.errno]
        if (refusal := refusal_in(str(cause), folder)) is not None:
            return refusal
    return None


def refusal_in(text: str, folder: Path | None = None) -> str | None:
    """The same of an error of which there is only a text, as of a step that failed."""
    for words, refusal in _WORDS.items():
        if words in text:
            return refusal
    return _FULL if _AMBIGUOUS in text and folder is not None and full_disk(folder) is not None else None


def full_disk(folder: Path) -> Path | None:
    """The folder, or one in it that is a disk of its own, where there is no room; None if there is some everywhere."""
    mounted = sorted(path for path in folder.iterdir() if path.is_mount()) if folder.is_dir() else []
    return next((path for path in (folder, *mounted) if path.exists() and shutil.disk_usage(path).free < _ROOM), None)
