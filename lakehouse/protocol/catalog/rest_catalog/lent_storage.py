"""Storage by credentials that a catalog lends: shortly before they end, the catalog is asked for others.

Iceberg's clients in Java do so by `client.refresh-credentials-endpoint`, five minutes before the end; PyIceberg 0.12
keeps what it was given when the table was loaded. Here the table is loaded again, which every REST catalog knows.

A renewal that fails, or lends less than before, is tried again while the credentials that are there still hold.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from threading import RLock, local
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.io.fsspec import FsspecFileIO
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import Properties
from typing_extensions import override

from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog.rest_catalog.rest_responses import short_reason
from lakehouse.settings.catalogs.keys import STORAGE_KEYS
from lakehouse.settings.catalogs.lent import Vended, vended

Renew = Callable[[], Properties]
_EARLY = timedelta(minutes=5)
_PAUSE = timedelta(seconds=5)
"""Between two renewals, also where what is lent has ended on its arrival: files are many, and the catalog is one."""
_log = logging.getLogger(__name__)


class LentFileIO(FileIO):
    """Storage whose credentials are renewed where it is used; the classes below say by which client."""

    def __init__(self, properties: Properties, renew: Renew) -> None:
        """Of a table as it was loaded.

        Args:
            properties: how its storage is reached, with credentials that say when they end.
            renew: loads the table again, and says how its storage is reached then.
        """
        self._renew, self._lock, self._due = renew, RLock(), _due(vended(properties))
        super().__init__(properties)

    def renew(self) -> None:
        """Ask for other credentials if it is time.

        Raises:
            Exception: what the catalog said to that, where those that are there have ended.
        """
        with self._lock:
            if (now := datetime.now(UTC)) < self._due:
                return
            self._due = now + _PAUSE
            lent = vended(self.properties)
            holds = lent is not None and lent.ends is not None and now < lent.ends
            try:
                properties = self._renew()
            except Exception as error:  # whatever it is: what still holds goes on
                if not holds:
                    raise
                _log.warning("Credentials for files are not renewed (%s); those of before still hold.", _reason(error))
                return
            if holds and _lacks(properties, self.properties):
                _log.warning("The catalog lends less than before; the credentials of before still hold.")
                return
            self.properties, self._due = properties, max(_due(vended(properties)), now + _PAUSE)
            self._forget()

    def _forget(self) -> None:
        """Leave the clients that have the credentials of before."""


class _ByArrow(LentFileIO, PyArrowFileIO):
    def __init__(self, properties: Properties, renew: Renew) -> None:
        super().__init__(properties, renew)
        self._forget()
        self.fs_by_scheme = self._client

    def _client(self, scheme: str, netloc: str | None) -> Any:
        self.renew()
        return self._clients(scheme, netloc)

    @override
    def _forget(self) -> None:
        self._clients = lru_cache(self._initialize_fs)


class _ByFsspec(LentFileIO, FsspecFileIO):
    @override
    def get_fs(self, scheme: str, hostname: str | None = None) -> Any:
        with self._lock:  # or a renewal in another thread takes away the client that is looked up
            self.renew()
            return super().get_fs(scheme, hostname)

    @override
    def _forget(self) -> None:
        self._thread_locals = local()


def renewing(io: FileIO, renew: Renew) -> FileIO:
    """The same storage, renewed where its credentials say when they end.

    Args:
        io: of a table, as it was loaded.
        renew: loads the table again, and says how its storage is reached then.
    """
    lent = vended(io.properties)
    if lent is None or lent.ends is None:
        return io
    if isinstance(io, PyArrowFileIO):
        return _ByArrow(io.properties, renew)
    return _ByFsspec(io.properties, renew) if isinstance(io, FsspecFileIO) else io


def current_properties(io: FileIO) -> Properties:
    """How storage is reached, for a worker, which cannot ask the catalog: by credentials that have some time left."""
    if isinstance(io, LentFileIO):
        io.renew()
    return io.properties


def _lacks(properties: Properties, before: Properties) -> bool:
    """Whether what is lent now does not say when it ends, ends sooner, or opens less than what was lent before."""
    now, then = vended(properties), vended(before)
    if now is None or now.ends is None or not _keys_of(before) <= _keys_of(properties):
        return True
    return then is not None and then.ends is not None and now.ends < then.ends


def _keys_of(properties: Properties) -> set[str]:
    """The names of what opens the store: a token that changes alone, without its key, opens nothing."""
    lent = vended(properties)
    return {key for key in properties if key in STORAGE_KEYS} | set(lent.names if lent else ())


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, LakehouseError) else short_reason(error)


def _due(lent: Vended | None) -> datetime:
    """When others are to be asked for; of credentials that live for less than ten minutes, after half of that.

    Where nothing says when they end, at once: only a renewal can have come to that, and the next may say more.
    """
    now = datetime.now(UTC)
    ends = lent.ends if lent is not None and lent.ends is not None else now
    return ends - min(_EARLY, max(ends - now, timedelta()) / 2)
