"""Taking a backup of a lake in use: first the catalog as it is at one moment, then the files that it refers to.

Meanwhile others publish and expire snapshots. Both may take away a file before it was linked. An older document is left
out then; without a file that a table needs, all begins again from a newer catalog. So each file is linked as soon as it
is known, the tables' documents before all else; and what was linked stays, so each try has less to do.
"""

import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from tenacity import retry_if_exception_type

from lakehouse.iceberg.durable_files import local_path, sync_files
from lakehouse.iceberg.names import name_of
from lakehouse.iceberg.reachable_files import needed_files, older_documents
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
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.catalog.sql_catalog.sqlite_file import require_usable
from lakehouse.protocol.errors import MetadataFileDamaged
from lakehouse.protocol.failpoints import failpoint
from lakehouse.retry import OTHERS_FIRST, retrying
from lakehouse.settings import CatalogSettings
from lakehouse.settings.state import make_private

_TRIES = 8


@dataclass(frozen=True)
class Backup:
    """What was taken.

    Args:
        linked: files that share their bytes with the lakehouse; they take no space until that deletes them.
        copied: files of their own.
    """

    contents: Contents
    linked: int
    copied: int


def take_backup(settings: CatalogSettings, folder: Path) -> Backup:
    """Copy catalog and files to a folder, while others go on.

    Raises:
        BackupError: the catalog is not embedded, there is none, the folder is not empty, or a table lacks a file.
        CatalogUnusable: the catalog's file is locked or damaged.
        OSError: the folder cannot be written to.
        MetadataFileDamaged: a table's document is gone or torn.
    """
    places = places_of(settings)
    if not places.database.is_file():
        raise BackupError(f"There is no catalog at {places.database}.", remedy="make a table first: `lakehouse apply`")
    require_usable(settings.address, settings.warehouse)
    if folder.exists() and any(folder.iterdir()):
        raise BackupError(f"The folder {folder} is not empty.", remedy="name a new one for each backup")
    make_private(folder)
    gone = retry_if_exception_type((FileNotFoundError, MetadataFileDamaged))
    try:
        backup = retrying(_TRIES, gone, longest=OTHERS_FIRST)(_take, settings, folder, places.warehouse)
    except FileNotFoundError as error:
        raise BackupError(
            f"A file that a table refers to is gone: {error}.",
            remedy="`lakehouse audit --scan` names the table; repair it, remove the folder, and take the backup anew",
        ) from error
    contents = folder / CONTENTS
    contents.write_bytes(msgspec.json.format(msgspec.json.encode(backup.contents)))
    sync_files([str(contents)])
    return backup


def _take(settings: CatalogSettings, folder: Path, warehouse: Path) -> Backup:
    taken, database = datetime.now(UTC), folder / DATABASE
    _copy_database(places_of(settings).database, database)
    failpoint("backup.between")
    linking = _Linking(warehouse, folder / WAREHOUSE)
    catalog = open_catalog(settings.model_copy(update={"uri": f"sqlite:///{database}"}))
    try:
        entries = list(catalog.entries())
        for entry in entries:
            if entry.identifier[0].endswith(":"):
                raise BackupError(
                    f"The database also holds {name_of(entry.identifier)}, which is another catalog's.",
                    remedy="back up the database by SQLite's `.backup`, and then the folders of both warehouses",
                )
            linking.link(entry.metadata_location)
        for entry in entries:
            table = catalog.load_table(entry.identifier)
            for location in needed_files(table):
                linking.link(location)
            for location in older_documents(table):
                with suppress(FileNotFoundError):
                    linking.link(location)
    finally:
        catalog.close()
    copied = [target for target, is_copy in linking.targets.items() if is_copy]
    sync_files([str(database), *map(str, copied)], tops=[str(folder)])
    contents = Contents(
        settings.warehouse,
        len(entries),
        files=len(files_in(folder)),  # what earlier tries have linked as well
        taken=taken.isoformat(timespec="seconds"),
        outside=len(linking.outside),
        size=size_of(folder),
    )
    return Backup(contents, len(linking.targets) - len(copied), len(copied))


class _Linking:
    """The files of one try.

    Args:
        warehouse: where they are.
        folder: where they go.
    """

    def __init__(self, warehouse: Path, folder: Path) -> None:
        self._warehouse, self._folder = warehouse, folder
        self.targets: dict[Path, bool] = {}
        """File in the backup → whether it is a copy."""
        self.outside: set[str] = set()
        """Locations outside of the warehouse."""

    def link(self, location: str) -> None:
        """Have a file in the backup, too.

        Raises:
            FileNotFoundError: it is gone.
        """
        path = local_path(location)
        if path is None or not path.is_relative_to(self._warehouse):
            self.outside.add(location)
        elif (target := self._folder / path.relative_to(self._warehouse)) not in self.targets:
            self.targets[target] = put(path, target)


def _copy_database(source: Path, target: Path) -> None:
    """By SQLite's own means: one state, with all that is still in the write-ahead log."""
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as lake, closing(sqlite3.connect(target)) as copy:
        lake.backup(copy)
