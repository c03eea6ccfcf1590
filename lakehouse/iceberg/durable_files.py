"""Files on a disk of this machine, put there so that a power cut cannot take them any more.

What a program has written is in the system's memory, for half a minute or so. An object store has it when it answers.
"""

import os
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlparse

_AT_ONCE = 8  # a disk takes several requests into one write of its journal


def local_path(location: str) -> Path | None:
    """Where a file lies on a disk of this machine; None for one in an object store."""
    address = urlparse(location)
    return Path(address.path) if address.scheme in ("", "file") else None


def sync_files(locations: Collection[str], *, tops: Collection[str] = ()) -> None:
    """Wait until these files, and the names of their folders, are on the disk; what is in an object store is left out.

    Args:
        locations: of the files.
        tops: folders whose own names are on the disk already. Those above them are not looked at.

    Raises:
        OSError: one of them is gone, or the disk refuses it; the error names it.
    """
    files = [path for location in locations if (path := local_path(location)) is not None]
    highest = {local_path(top) for top in tops}
    folders = {folder for parent in {file.parent for file in files} for folder in _upwards(parent, highest)}
    _sync_all(files)
    # Afterwards: a name that is on the disk before what it names would be an empty file.
    _sync_all(folders)


def _upwards(folder: Path, tops: Collection[Path | None]) -> Iterator[Path]:
    """A folder and those above it, as far as we may have put a new name into them."""
    for candidate in (folder, *folder.parents):
        if not os.access(candidate, os.W_OK):
            return
        yield candidate
        if candidate in tops:
            return


def _sync_all(paths: Collection[Path]) -> None:
    if len(paths) == 1:  # as of each commit's metadata document: threads would cost more than they save
        _sync(*paths)
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(_sync, paths))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(descriptor)
