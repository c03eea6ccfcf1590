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
from lakehouse.declarations import Drift, Histogram, SampleOf, Table, kind_of
from lakehouse.engines.spark import single_job
from lakehouse.engines.spark.naming import rows_at
from lakehouse.orchestration.checks.table_question import TableCheckRun
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.quantities import quantity


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


def measured_here(check_run: TableCheckRun) -> Measurement:
    """All columns of the table itself that a distribution is expected of."""
    wanted = {e.column for e in check_run.table.expects if isinstance(e, Drift | SampleOf | Histogram)}
    return check_run.once("distribution", lambda: _measured(check_run, check_run.table, check_run.pinned, wanted))


def measured_there(check_run: TableCheckRun, name: str) -> Measurement:
    """All columns of another table that columns of this one are compared with."""
    wanted = {e.to or e.column for e in check_run.table.expects if isinstance(e, SampleOf) and e.table == name}
    other = check_run.lake.declared(name)
    return check_run.once(
        ("distribution", name), lambda: _measured(check_run, other, counterpart(check_run, name), wanted)
    )


def counterpart(check_run: TableCheckRun, name: str) -> Pinned:
    """Another table at the snapshot that this one was computed from, or else as it is now.

    Compared with a newer one, a table would seem to have lost what it could not have known.
    """

    def find() -> Pinned:
        now = read_group(check_run.lake.catalog, [name])[name]
        sealed = check_run.pinned.sealed
        read = sealed.seal.inputs.get(name) if sealed else None
        return Pinned(now.table, read) if read is not None and now.table.snapshot_by_id(read) else now

    return check_run.once(("counterpart", name), find)


def unit_of(table: Table, column: str) -> str:
    """What a column is measured in, as its histogram declares it."""
    return next((e.unit for e in table.expects if isinstance(e, Histogram) and e.column == column), "")


def _measured(check_run: TableCheckRun, table: Table, pinned: Pinned, wanted: Iterable[str]) -> Measurement:
    content = content_of(pinned.table, pinned.snapshot_id)
    if content is None or pinned.snapshot_id is None:
        return Measurement(pinned)
    catalog = check_run.lake.catalog
    kept = kept_statistics(catalog, pinned.table, pinned.snapshot_id)
    columns = {name: table.column(name) for name in sorted(wanted)}
    known = {
        name: statistics
        for name, column in columns.items()
        if (statistics := kept.profile_at(name, content.snapshot_id)) is not None
        and statistics.kind == kind_of(column.type)
    }
    missing = {name: column for name, column in columns.items() if name not in known}
    if not missing:
        return Measurement(pinned, content, known, kept, "kept from an earlier check")
    began = time.monotonic()
    with check_run.session() as spark, single_job(spark):
        fresh = measure(rows_at(spark, table.name, pinned.snapshot_id), missing)
    seconds = time.monotonic() - began
    check_run.inform(f"{quantity(len(fresh), 'column')} of {table.name} measured in {seconds:.1f} s")
    keep_statistics(catalog, pinned.table, content, fresh, run_id=check_run.run_id)
    return Measurement(pinned, content, {**known, **fresh}, kept, f"measured by Spark in {seconds:.1f} s")
