"""The longest that a writer of a table was ever seen to take: for so long a file may be there that no snapshot knows.

A run writes its files first and names them afterwards. Dagster knows of runs that are under way and have named nothing
yet; the seals say how long those took that are done; open branches, how long those have taken that are not.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType

from lakehouse import seal_keys
from lakehouse.protocol.seals.attempt import BRANCH_PREFIX, begun_ms
from lakehouse.protocol.seals.history import attempt_of, summary_of


def longest_run(
    table: Table, now: datetime, *, dagster: timedelta = timedelta(0), noted: timedelta = timedelta(0)
) -> timedelta:
    """The longest of all that is known.

    Args:
        table: whose writers.
        now: up to when runs that are under way have taken.
        dagster: the longest run that Dagster remembers, or that is under way.
        noted: the longest that earlier looks have seen, whose seals may have expired.
    """
    return max((dagster, noted, *_sealed(table), *_open(table, now)))


def _sealed(table: Table) -> Iterator[timedelta]:
    for snapshot in table.metadata.snapshots:
        attempt = attempt_of(snapshot)
        if attempt is not None and seal_keys.VERSION in summary_of(snapshot) and (begun := begun_ms(f"_{attempt}")):
            yield timedelta(milliseconds=max(0, snapshot.timestamp_ms - begun))


def _open(table: Table, now: datetime) -> Iterator[timedelta]:
    now_ms = now.astimezone(UTC).timestamp() * 1000
    for name, ref in table.metadata.refs.items():
        is_attempt = ref.snapshot_ref_type == SnapshotRefType.BRANCH and name.startswith(BRANCH_PREFIX)
        if is_attempt and (begun := begun_ms(name)):
            yield timedelta(milliseconds=max(0, now_ms - begun))
