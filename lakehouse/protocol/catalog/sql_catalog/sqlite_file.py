"""The file of an embedded catalog is looked at before anything is asked of it: is it locked, damaged, or gone?

What SQLite and SQLAlchemy say of such a file names neither the file nor what to do. And a file that is gone would be
made anew without a word: its tables would be created a second time beside the data that the warehouse still has.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote, urlparse

import structlog
from sqlalchemy import make_url
from tenacity import RetryCallState, retry_if_exception

from lakehouse.errors import LakehouseError
from lakehouse.retry import NO_ANSWER, retrying
from lakehouse.settings.storage_refusal import storage_refusal

_log = structlog.get_logger(__name__)
LOCKED_SECONDS = 30.0
"""So long a lock is waited for, all tries together; the one that begins last may take its own time in addition."""
_LOOK_SECONDS = 2.0
_LOOKS = 1000  # the time ends first


class CatalogUnusable(LakehouseError):
    """The file of the embedded catalog is locked, damaged, or gone."""


def catalog_locked(database: object, error: object) -> CatalogUnusable:
    """The error of a file that stayed locked."""
    return CatalogUnusable(
        f"The catalog database {database} stayed locked by another program ({error}).",
        remedy=f"end what keeps it locked (a SQL shell with an open transaction, a backup; `fuser {database}` shows "
        "which), then run it again",
    )


def is_locked(error: BaseException) -> bool:
    """Whether another program is in the way, by the words of SQLite."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def require_usable(uri: str, warehouse: str) -> None:
    """Look at the file of an embedded catalog; a database of another kind is not looked at.

    Args:
        uri: of the database, in the words of SQLAlchemy.
        warehouse: where the tables lie; looked at where there is no catalog yet, if it is a local folder.

    Raises:
        CatalogUnusable: names the file and the remedy.
    """
    url = make_url(uri)
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return
    path = Path(url.database)
    if _has_tables(path) or (table := _table_in(warehouse)) is None or _has_tables(path):  # made by now, by another
        return
    raise CatalogUnusable(
        f"The catalog database {path} is {'empty' if path.exists() else 'gone'}, and the warehouse {warehouse} has "
        f"tables (one is in {table}).",
        remedy="restore the file from a backup; to begin anew without these tables, move the warehouse away",
    )


def require_there(uri: str) -> None:
    """Insist that there is a file, of an embedded catalog that is only read: whoever asks it would make an empty one.

    Args:
        uri: of the database, in the words of SQLAlchemy; one of another kind is not looked at.

    Raises:
        CatalogUnusable: there is none.
    """
    url = make_url(uri)
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
        raise CatalogUnusable(
            f"There is no catalog database {url.database}.", remedy="correct `uri` in its file of conf/catalogs"
        )


def _has_tables(path: Path) -> bool:
    """Whether there is a sound database with tables in it; waits where it is locked."""
    patient = retrying(
        _LOOKS, retry_if_exception(is_locked), longest=NO_ANSWER, within=LOCKED_SECONDS, before_sleep=_note_lock
    )
    try:
        return patient(_look, path)
    except sqlite3.Error as error:
        if is_locked(error):
            raise catalog_locked(path, error) from error
        if (refusal := storage_refusal(error, path.parent)) is not None:
            raise _not_opened(path, str(error), refusal) from error
        raise _unreadable(path, str(error)) from error


def _look(path: Path) -> bool:
    if not path.exists():
        return False
    with closing(_connected(path)) as connection:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise _unreadable(path, str(verdict).splitlines()[-1])
        return connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchone() is not None


def _unreadable(path: Path, reason: str) -> CatalogUnusable:
    return CatalogUnusable(
        f"The catalog database {path} cannot be read ({reason}).",
        remedy="restore it from a backup, with the -wal file of the same moment if there is one",
    )


def _not_opened(path: Path, reason: str, refusal: str) -> CatalogUnusable:
    """Nothing is known to be wrong with the file: to restore it would lose what was committed since the backup."""
    return CatalogUnusable(
        f"The catalog database {path} cannot be opened ({reason}): SQLite writes beside it, also to read, and the "
        f"folder {refusal}.",
        remedy=f"make {path.parent} writable for this user: look at its owner, and whether its disk is full or mounted "
        "read-only; the file itself may be whole",
    )


def _connected(path: Path) -> sqlite3.Connection:
    """A connection that makes no file where there is none."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_LOOK_SECONDS)


def _table_in(warehouse: str) -> str | None:
    """The folder of some table below a warehouse."""
    location = urlparse(warehouse)
    if location.scheme not in ("", "file"):
        return None
    document = next(Path(unquote(location.path)).rglob("*.metadata.json"), None)
    return str(document.parent.parent) if document else None


def _note_lock(state: RetryCallState) -> None:
    if state.attempt_number == 1:
        (path,) = state.args
        _log.warning("catalog_locked", file=str(path), waiting_seconds=LOCKED_SECONDS)
