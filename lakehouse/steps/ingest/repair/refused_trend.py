"""How many records a stream has refused, by day and by kind of error."""

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from pyiceberg.expressions import And, GreaterThanOrEqual, LessThan
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import Table

from lakehouse.steps.ingest.repair.refused_records import TIMESTAMP


class RefusedDay(NamedTuple):
    """Refused records of a day that are in the quarantine.

    Args:
        day: by their Kafka timestamps, in UTC.
        error_class: why.
        records: how many.
    """

    day: date
    error_class: str
    records: int


def refused_by_day(quarantine: Table, snapshot_id: int | None, days: int, *, today: date) -> list[RefusedDay]:
    """Count what a quarantine holds of the last days, oldest first.

    Args:
        quarantine: the table as it was loaded.
        snapshot_id: the state that is counted; None: of a table without one.
        days: how many, today included.
        today: the last of them.
    """
    if snapshot_id is None:
        return []
    first, end = (
        datetime.combine(day, time(), UTC) for day in (today - timedelta(days=days - 1), today + timedelta(1))
    )
    where = And(GreaterThanOrEqual(TIMESTAMP, first.isoformat()), LessThan(TIMESTAMP, end.isoformat()))  # pyright: ignore[reportCallIssue]
    tasks = list(quarantine.scan(snapshot_id=snapshot_id, row_filter=where).plan_files())
    schema = quarantine.schema().select(TIMESTAMP, "error_class")
    counts: Counter[tuple[date, str]] = Counter()
    for rows in ArrowScan(quarantine.metadata, quarantine.io, schema, where).to_record_batches(tasks):
        moments, kinds = (rows.column(name).to_pylist() for name in (TIMESTAMP, "error_class"))
        counts.update((moment.date(), kind) for moment, kind in zip(moments, kinds, strict=True))
    return [RefusedDay(day, kind, count) for (day, kind), count in sorted(counts.items())]
