"""The longest that a writer of a table was ever seen to take: for so long a file may be there that no snapshot knows.

A run writes its files first and names them afterwards. Dagster knows of runs that are under way and have named nothing
yet; the seals say how long those took that are done; open branches, how long those have taken that are not.

Who is under way is waited for, however long. Who is done is believed up to a month: a run that began with a clock of
years ago, and was sealed after that was set right, would have taken those years, and no file would ever be old enough.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType

from lakehouse import seal_keys
from lakehouse.protocol.seals.attempt import BRANCH_PREFIX, begun_ms
from lakehouse.protocol.seals.history import attempt_of, summary_of

LONGEST_BELIEVED = timedelta(days=30)


@dataclass(frozen=True)
class LongestRun:
    """For how long a file may be there that no snapshot knows.

    Args:
        wait: as long as the longest run.
        doubt: which run that is done is not believed to have taken so long; empty if there is none.
    """

    wait: timedelta
    doubt: str


def longest_run(
    table: Table, now: datetime, *, dagster: timedelta = timedelta(0), noted: timedelta = timedelta(0)
) -> LongestRun:
    """The longest of all that is known.

    Args:
        table: whose writers.
        now: up to when runs that are under way have taken.
        dagster: the longest run that Dagster remembers, or that is under way.
        noted: the longest that earlier looks have seen, whose seals may have expired.
    """
    done = max((noted, *_sealed(table)))
    return LongestRun(wait=max((dagster, *_open(table, now), min(done, LONGEST_BELIEVED))), doubt=_doubt(done))


def _doubt(done: timedelta) -> str:
    if done <= LONGEST_BELIEVED:
        return ""
    days = done / timedelta(days=1)
    most = LONGEST_BELIEVED.days
    return f"a run seems to have taken {days:,.0f} days and counts for {most}, since a clock was probably wrong"


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
