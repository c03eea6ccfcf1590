"""Before something goes for its age, this machine's clock is compared with that of the store, which all writers share.

To a machine whose clock is ahead every run looks abandoned, and every snapshot old. The store stamps each file with its
own time; so a file of one byte tells it, wherever the catalog is. On a local disk that is the same machine's clock.
"""

import secrets
import time

from pyiceberg.table import Table

from lakehouse.iceberg.names import table_name
from lakehouse.protocol.catalog.clock import require_clock


def require_age_clock(table: Table) -> None:
    """Refuse to judge ages by a clock that is ahead of the store's.

    A file system that does not say when a file was written decides nothing.

    Raises:
        ClockSkew: it is, by more than a minute.
        OSError: the store refused to write a file into the table's metadata folder.
    """
    location = f"{table.location().rstrip('/')}/metadata/clock-{secrets.token_hex(8)}"
    began_ms = time.time_ns() // 1_000_000
    with table.io.new_output(location).create() as file:
        file.write(b"?")
    try:
        require_clock(table.io, location, began_ms, table_name(table))
    finally:
        table.io.delete(location)
