"""What the distribution checks of one table share: one measurement of all their columns, at one snapshot.

A snapshot that was measured before is not measured again: its statistics are kept, beside the history that drift needs.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyiceberg.table.snapshots import Snapshot

from lakehouse.checks.judge import Asked
from lakehouse.commit import Pinned, read_group
from lakehouse.distribution.measure import measure
from lakehouse.distribution.statistics import ColumnStatistics
from lakehouse.distribution.store import Kept, content_of, keep_statistics, kept_statistics
from lakehouse.quality.onepass.scan import one_job
from lakehouse.spark.naming import rows_at
from lakehouse.tables import Drift, Histogram, SampleOf, Table, kind_of


@dataclass(frozen=True)
class Measured:
    """Columns of one table at one snapshot.

    Attributes:
        pinned: the table.
        content: the snapshot that brought its rows; None where there is none yet.
        columns: by name.
        kept: what is known of the past.
        origin: where the statistics come from, in words.
    """

    pinned: Pinned
    content: Snapshot | None = None
    columns: dict[str, ColumnStatistics] = field(default_factory=dict[str, ColumnStatistics])
    kept: Kept = field(default_factory=Kept)
    origin: str = "nothing to measure"


def measured_here(asked: Asked) -> Measured:
    """All columns of the table itself that a distribution is expected of."""
    wanted = {e.column for e in asked.table.expects if isinstance(e, Drift | SampleOf | Histogram)}
    return asked.once("distribution", lambda: _measured(asked, asked.table, asked.pinned, wanted))


def measured_there(asked: Asked, name: str) -> Measured:
    """All columns of another table that columns of this one are compared with."""
    wanted = {e.to or e.column for e in asked.table.expects if isinstance(e, SampleOf) and e.table == name}
    other = asked.declarations.tables[name]
    return asked.once(("distribution", name), lambda: _measured(asked, other, counterpart(asked, name), wanted))


def counterpart(asked: Asked, name: str) -> Pinned:
    """Another table at the snapshot that this one was computed from, or else as it is now.

    Compared with a newer one, a table would seem to have lost what it could not have known.
    """

    def find() -> Pinned:
        now = read_group(asked.lake.catalog, [name])[name]
        sealed = asked.pinned.sealed
        read = sealed.seal.inputs.get(name) if sealed else None
        return Pinned(now.table, read) if read is not None and now.table.snapshot_by_id(read) else now

    return asked.once(("counterpart", name), find)


def unit_of(table: Table, column: str) -> str:
    """What a column is measured in, as its histogram declares it."""
    return next((e.unit for e in table.expects if isinstance(e, Histogram) and e.column == column), "")


def _measured(asked: Asked, table: Table, pinned: Pinned, wanted: Iterable[str]) -> Measured:
    content = content_of(pinned.table, pinned.snapshot_id)
    if content is None or pinned.snapshot_id is None:
        return Measured(pinned)
    catalog = asked.lake.catalog
    kept = kept_statistics(catalog, pinned.table, pinned.snapshot_id)
    columns = {name: table.column(name) for name in sorted(wanted)}
    found = {
        name: statistics
        for name, column in columns.items()
        if (statistics := kept.at(name, content.snapshot_id)) is not None and statistics.kind == kind_of(column.type)
    }
    missing = {name: column for name, column in columns.items() if name not in found}
    if not missing:
        return Measured(pinned, content, found, kept, "kept from an earlier check")
    began = time.monotonic()
    with asked.session() as spark, one_job(spark):
        fresh = measure(rows_at(spark, table.name, pinned.snapshot_id), missing)
    seconds = time.monotonic() - began
    asked.inform(f"{len(fresh)} column{'s' if len(fresh) > 1 else ''} of {table.name} measured in {seconds:.1f} s")
    keep_statistics(catalog, pinned.table, content, fresh, run_id=asked.run_id)
    return Measured(pinned, content, {**found, **fresh}, kept, f"measured by Spark in {seconds:.1f} s")
