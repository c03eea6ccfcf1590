"""What the distribution checks of one table share: one measurement of all their columns, at one snapshot.

A snapshot that was measured before is not measured again: its statistics are kept, beside the history that drift needs.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyiceberg.table.snapshots import Snapshot

from lakehouse.contracts.profile.measure import measure
from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse.contracts.profile.store import Kept, content_of, keep_statistics, kept_statistics
from lakehouse.contracts.rules.stored.scan import one_job
from lakehouse.declarations import Drift, Histogram, SampleOf, Table, kind_of
from lakehouse.engines.spark.naming import rows_at
from lakehouse.orchestration.checks.table_question import TableCheckRun
from lakehouse.protocol.seals.read_group import Pinned, read_group


@dataclass(frozen=True)
class Measurement:
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
    columns: dict[str, ColumnProfile] = field(default_factory=dict[str, ColumnProfile])
    kept: Kept = field(default_factory=Kept)
    origin: str = "nothing to measure"


def measured_here(asked: TableCheckRun) -> Measurement:
    """All columns of the table itself that a distribution is expected of."""
    wanted = {e.column for e in asked.table.expects if isinstance(e, Drift | SampleOf | Histogram)}
    return asked.once("distribution", lambda: _measured(asked, asked.table, asked.pinned, wanted))


def measured_there(asked: TableCheckRun, name: str) -> Measurement:
    """All columns of another table that columns of this one are compared with."""
    wanted = {e.to or e.column for e in asked.table.expects if isinstance(e, SampleOf) and e.table == name}
    other = asked.declarations.tables[name]
    return asked.once(("distribution", name), lambda: _measured(asked, other, counterpart(asked, name), wanted))


def counterpart(asked: TableCheckRun, name: str) -> Pinned:
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


def _measured(asked: TableCheckRun, table: Table, pinned: Pinned, wanted: Iterable[str]) -> Measurement:
    content = content_of(pinned.table, pinned.snapshot_id)
    if content is None or pinned.snapshot_id is None:
        return Measurement(pinned)
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
        return Measurement(pinned, content, found, kept, "kept from an earlier check")
    began = time.monotonic()
    with asked.session() as spark, one_job(spark):
        fresh = measure(rows_at(spark, table.name, pinned.snapshot_id), missing)
    seconds = time.monotonic() - began
    asked.inform(f"{len(fresh)} column{'s' if len(fresh) > 1 else ''} of {table.name} measured in {seconds:.1f} s")
    keep_statistics(catalog, pinned.table, content, fresh, run_id=asked.run_id)
    return Measurement(pinned, content, {**found, **fresh}, kept, f"measured by Spark in {seconds:.1f} s")
