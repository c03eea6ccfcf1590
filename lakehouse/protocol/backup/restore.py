"""Putting a backup in the place of an empty lakehouse: files first, the catalog last."""

import filecmp
import shutil
from pathlib import Path

import msgspec

from lakehouse.iceberg.durable_files import sync_files
from lakehouse.protocol.backup.layout import (
    CONTENTS,
    DATABASE,
    WAREHOUSE,
    BackupError,
    Contents,
    files_in,
    places_of,
    put,
    size_of,
)
from lakehouse.settings import CatalogSettings
from lakehouse.settings.state import make_private


def restore(settings: CatalogSettings, folder: Path) -> Contents:
    """Put a backup where the settings say that the lakehouse is; returns what was in it.

    The backup stays as it is. A restore that was interrupted before the catalog was there is begun anew.

    Raises:
        BackupError: it is no whole backup, it was taken at another place, or there is a lakehouse already, a part of
            one, or a file of one that was changed since.
    """
    places, contents = places_of(settings), _contents(folder)
    if contents.warehouse != settings.warehouse:
        raise BackupError(
            f"The backup {folder} was taken of {contents.warehouse}, and the settings say {settings.warehouse}. "
            "Metadata name files by whole addresses, so they go back to where they were.",
            remedy="let the settings name that place (LAKEHOUSE_HOME), or mount the disk there",
        )
    if places.database.exists():
        raise BackupError(
            f"There is a catalog at {places.database}.",
            remedy=f"move {places.database} (with its -wal and -shm) and {places.warehouse} away first",
        )
    if left := [path for path in _companions(places.database) if path.exists()]:
        raise BackupError(
            f"There is no catalog at {places.database}, and beside its place {', '.join(path.name for path in left)}: "
            "of an earlier catalog, and SQLite would play what is in it into the one that is put back.",
            remedy=f"move {', '.join(map(str, left))} to where that catalog is now (its last commits may be in there "
            "alone), or away",
        )
    files, size = files_in(folder), size_of(folder)
    if len(files) < contents.files or size < contents.size or not (folder / DATABASE).is_file():
        raise BackupError(
            f"The backup {folder} had {contents.files} files below {WAREHOUSE}/, with {DATABASE} of "
            f"{contents.size:,} bytes, and has {len(files)}, of {size:,} bytes.",
            remedy="take another backup, or copy this one again from where it is whole",
        )
    targets = {path: places.warehouse / path.relative_to(folder / WAREHOUSE) for path in files}
    if other := [target for path, target in targets.items() if target.exists() and not _is_same(path, target)]:
        raise BackupError(
            f"{len(other)} files below {places.warehouse} are not those of the backup, the first of them {other[0]}: "
            "they were cut or changed, and would stay.",
            remedy=f"move {places.warehouse} away first; nothing was restored",
        )
    for path, target in targets.items():
        put(path, target)
    make_private(places.database.parent)
    partial = places.database.with_name(f"{DATABASE}.partial")
    shutil.copyfile(folder / DATABASE, partial)
    sync_files([*map(str, targets.values()), str(partial)])
    partial.replace(places.database)
    sync_files([str(places.database)])
    return contents


def _is_same(path: Path, target: Path) -> bool:
    """Whether a file that is there is the backup's: linked, or a copy with the same bytes."""
    return path.samefile(target) or filecmp.cmp(path, target, shallow=False)


def _companions(database: Path) -> list[Path]:
    """What SQLite keeps beside a database while it is open, and leaves there when its process is killed."""
    return [database.with_name(database.name + suffix) for suffix in ("-wal", "-shm", "-journal")]


def _contents(folder: Path) -> Contents:
    try:
        return msgspec.json.decode((folder / CONTENTS).read_bytes(), type=Contents)
    except (FileNotFoundError, msgspec.DecodeError) as error:
        raise BackupError(
            f"{folder} is no whole backup: its {CONTENTS}, which is written last, is missing or cannot be read.",
            remedy="name the folder that `lakehouse backup` has filled",
        ) from error
