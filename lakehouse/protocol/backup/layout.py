"""What is where in the folder of a backup, and which lakehouses can have one."""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import msgspec
from sqlalchemy import make_url

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.durable_files import local_path
from lakehouse.protocol.catalog.refusal import address_of
from lakehouse.settings import CatalogSettings

DATABASE, WAREHOUSE, CONTENTS = "catalog.db", "warehouse", "backup.json"


class BackupError(LakehouseError):
    """A backup cannot be taken, or not be put back."""


class Contents(msgspec.Struct):
    """What `backup.json` says. It is written last: a folder without it is not whole.

    Args:
        warehouse: where the files were. Iceberg's metadata name them by whole addresses, so they go back there.
        tables: how many the catalog names.
        files: how many lie below `warehouse`.
        taken: when the catalog was copied, in ISO 8601.
        outside: files that the catalog refers to, and that lie outside of the warehouse: they are not in the backup.
        size: of these files and the catalog, in bytes; 0 where an earlier version has not written it down.
    """

    warehouse: str
    tables: int
    files: int
    taken: str
    outside: int = 0
    size: int = 0


class Places(NamedTuple):
    """Where a lakehouse is on this machine."""

    database: Path
    warehouse: Path


def places_of(settings: CatalogSettings) -> Places:
    """Where database and warehouse are.

    Raises:
        BackupError: they are not both on a disk here.
    """
    url, warehouse = make_url(settings.address) if settings.type == "sql" else None, local_path(settings.warehouse)
    if url is None or url.get_backend_name() != "sqlite" or not url.database or warehouse is None:
        raise BackupError(
            f"The catalog at {address_of(settings)} is not embedded, or its warehouse "
            f"{settings.warehouse} is not on a disk here.",
            remedy="back it up by the means of its own: of the database (such as pg_dump), and of the object store "
            "(such as versions of objects); the database first",
        )
    return Places(Path(url.database), warehouse)


def files_in(folder: Path) -> list[Path]:
    """The tables' files that a backup has."""
    return [path for path in (folder / WAREHOUSE).rglob("*") if path.is_file()]


def size_of(folder: Path) -> int:
    """Bytes of a backup's files and its catalog, as far as they are there."""
    return sum(path.stat().st_size for path in (*files_in(folder), folder / DATABASE) if path.is_file())


def put(source: Path, target: Path) -> bool:
    """Have a file at another place: linked on the same file system, else copied; returns whether it was copied.

    A file that is there already stays: Iceberg never changes one.

    Raises:
        FileNotFoundError: the file is gone.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    except FileNotFoundError:
        raise
    except OSError:  # another file system, or one without hard links
        partial = target.with_name(f"{target.name}.partial")
        shutil.copy2(source, partial)
        partial.replace(target)
        return True
    return False
