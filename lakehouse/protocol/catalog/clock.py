"""Refuses to write by a clock that is ahead: every true clock would be behind the table then, and be refused.

There is one other clock at hand: that of the storage, which says when a file was written. A laptop's disk has the
laptop's own, so there nothing is compared; nobody else writes there either.
"""

from datetime import UTC, datetime

from pyiceberg.io import FileIO

from lakehouse.iceberg.storage_time import modified_ms
from lakehouse.protocol.errors import ClockSkew

SKEW_LIMIT_MS = 60_000


def require_clock(io: FileIO, location: str, began_ms: int, name: str) -> None:
    """Compare our clock with the storage's by a file that we have just written.

    Args:
        io: by which it was written.
        location: of the file.
        began_ms: our clock before we wrote it. However long that took, a storage of the same clock says a later time.
        name: of the table.

    Raises:
        ClockSkew: this machine's clock is more than a minute ahead.
    """
    written_ms = modified_ms(io, location)
    if written_ms is None or (ahead_ms := began_ms - written_ms) <= SKEW_LIMIT_MS:
        return
    raise ClockSkew(
        f"{name}: this machine's clock is {ahead_ms / 1000:.0f} s ahead of the storage's, where "
        f"{location.rpartition('/')[2]} was written just now, at "
        f"{datetime.fromtimestamp(written_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC; nothing was done.",
        remedy="set the clocks of this machine and of the storage by NTP, then run the step again",
    )
