"""Before something goes for its age, this machine's clock is compared with that of the store, which all writers share.

To a machine whose clock is ahead every run looks abandoned, and every snapshot old. The store stamps each file with its
own time; so a file of one byte tells it, wherever the catalog is. On a local disk that is the same machine's clock.
"""

import secrets
import time
from datetime import UTC, datetime, timedelta

import pyarrow.fs as arrow_fs
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import table_name

ALLOWED = timedelta(minutes=5)


class ClockAhead(LakehouseError):
    """This machine's clock is ahead of the store's."""

    def __init__(self, table: str, here: datetime, there: datetime) -> None:
        super().__init__(
            f"{table}: this machine's clock says {here:%Y-%m-%d %H:%M:%S} UTC, the store's {there:%Y-%m-%d %H:%M:%S} "
            "UTC. What is still at work would be taken for old, so nothing was deleted.",
            remedy="set this machine's clock (NTP), and run it again",
        )


def require_clock(table: Table) -> None:
    """Refuse to judge ages by a clock that is ahead of the store's.

    A file system that does not say when a file was written is not asked.

    Raises:
        ClockAhead: it is, by more than five minutes.
        OSError: the store refused to write a file into the table's metadata folder.
    """
    here = datetime.fromtimestamp(time.time_ns() / 1e9, UTC)
    there = _store_time(table)
    if there is not None and here - there > ALLOWED:
        raise ClockAhead(table_name(table), here, there)


def _store_time(table: Table) -> datetime | None:
    if not isinstance(table.io, PyArrowFileIO):
        return None
    location = f"{table.location().rstrip('/')}/metadata/clock-{secrets.token_hex(8)}"
    with table.io.new_output(location).create() as file:
        file.write(b"?")
    try:
        scheme, netloc, path = PyArrowFileIO.parse_location(location, table.io.properties)
        info: arrow_fs.FileInfo = table.io.fs_by_scheme(scheme, netloc).get_file_info(path)
        return info.mtime.astimezone(UTC) if info.mtime is not None else None
    finally:
        table.io.delete(location)
