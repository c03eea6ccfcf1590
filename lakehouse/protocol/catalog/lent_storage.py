"""Storage by credentials that a catalog lends: shortly before they end, the catalog is asked for others.

Iceberg's clients in Java do so by `client.refresh-credentials-endpoint`, five minutes before the end; PyIceberg 0.12
keeps what it was given when the table was loaded. Here the table is loaded again, which every REST catalog knows.
"""

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

from lakehouse.settings.catalogs.vended import vended

Renew = Callable[[], Properties]
_EARLY = timedelta(minutes=5)


class LentFileIO(FileIO):
    """Storage whose credentials are renewed where it is used; the classes below say by which client."""

    def __init__(self, properties: Properties, renew: Renew) -> None:
        """Of a table as it was loaded.

        Args:
            properties: how its storage is reached, with credentials that say when they end.
            renew: loads the table again, and says how its storage is reached then.
        """
        self._renew, self._lock, self._due = renew, RLock(), _due(properties)
        super().__init__(properties)

    def renew(self) -> None:
        """Ask for other credentials if it is time."""
        with self._lock:
            if datetime.now(UTC) >= self._due:
                self.properties = self._renew()
                self._due = _due(self.properties)
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


def _due(properties: Properties) -> datetime:
    """When others are to be asked for; of credentials that live for less than ten minutes, after half of that."""
    lent, now = vended(properties), datetime.now(UTC)
    if lent is None or lent.ends is None:
        return datetime.max.replace(tzinfo=UTC)
    return lent.ends - min(_EARLY, max(lent.ends - now, timedelta()) / 2)
