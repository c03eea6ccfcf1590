"""The story of one step of a mirror: plan, read, fold, write to branches, seal, publish.

Mirror, tombstones and quarantine change in one publish, and the lease on the changelog moves with them. There is no
other state: if this process dies anywhere before, the next run finds the old seal and plans the same range again.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial

import structlog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from lakehouse.declarations import MirrorTables
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Staged, publish, seal_branch
from lakehouse.protocol.commit.publish import Condition
from lakehouse.protocol.completion.completion import complete_publish
from lakehouse.protocol.errors import MainMoved
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.leases.lease import Lease, lease_tag, lease_until, leases, take_lease
from lakehouse.protocol.leases.source import still_in_main
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.read_group import read_group
from lakehouse.protocol.seals.seal import Seal
from lakehouse.quantities import quantity
from lakehouse.steps.cdc.fold_range import files_of, fold, without_changes
from lakehouse.steps.cdc.plan.initial_tag import hold_initial
from lakehouse.steps.cdc.plan.range import Range, next_range, whole_range
from lakehouse.steps.cdc.plan.reading import require_files
from lakehouse.steps.cdc.plan.reread_range import applied_range, require_complete, require_unretired, still_unretired
from lakehouse.steps.cdc.plan.schema_evolution import declared_since, evolve, undeclared_fields
from lakehouse.steps.cdc.refusals import HistoryIncomplete, NoChangelog
from lakehouse.steps.cdc.report import MirrorReport
from lakehouse.steps.cdc.statement import KIND_MIRROR, KIND_REBUILD, MirrorStatement
from lakehouse.steps.cdc.stored_statement import newest_statement, stored_statement
from lakehouse.steps.cdc.work import MirrorWork, StagedRange

log = structlog.get_logger(__name__)
MAX_CHANGES = 5_000_000
_TRIES = 3


@dataclass(frozen=True)
class MirrorStep:
    """What a mirror's step needs. `session` opens Spark, and only when there is something to read.

    Args:
        tables: the mirror, its changelog, and what it writes.
        catalog: where they live.
        session: opens Spark.
        attempt: who writes.
        max_changes: rows of one run, as far as the changelog's seals allow; a rebuild takes them all.
        rebuild: fold the whole changelog and put the result in the place of what is there.
        inform: told of progress.
    """

    tables: MirrorTables
    catalog: LakeCatalog
    session: Callable[[], AbstractContextManager[SparkSession]]
    attempt: Attempt
    max_changes: int = MAX_CHANGES
    rebuild: bool = False
    inform: Callable[[str], None] = field(default=lambda message: log.info("mirror", detail=message))

    @property
    def name(self) -> str:
        """The mirror's name."""
        return self.tables.mirror.name

    @property
    def written(self) -> tuple[str, ...]:
        """All tables that the step writes, quarantine last."""
        return tuple(table.name for table in self.tables.tables)


def mirror(step: MirrorStep) -> MirrorReport:
    """Apply the next changes of the changelog to the mirror, each once.

    A run that maintenance or a rollback was quicker than has lost nothing but time: it begins again on what is there
    now.

    Returns:
        What was done; `published` is None where there was nothing to do.

    Raises:
        MirrorRefused: mirror and changelog do not fit together, or writing did not do what was planned.
        CommitError: the publish did not go through, for example `Superseded`; nothing was published.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            return _mirror(step)
        except MainMoved as overtaken:
            if tries_left == 0:
                raise
            step.inform(f"{step.name}: once more, on what is there now: {overtaken.message}")
            step = replace(step, attempt=step.attempt.again())
    raise AssertionError("unreachable")


def _mirror(step: MirrorStep) -> MirrorReport:
    began = time.monotonic()
    for name in complete_publish(step.catalog, step.written):
        step.inform(f"{step.name}: {name} has what an attempt had staged for it, and stopped before")
    work = plan_work(step)
    if (change_range := work.change_range) is None:
        step.inform(f"{step.name}: nothing new in {step.tables.changelog.name}")
        return MirrorReport(step.name, "idle", work.previous, None, notes=work.notes, seconds=_since(began))
    changes = quantity(change_range.changes, "change")
    step.inform(f"{step.name}: {changes} of {change_range.name} up to snapshot {change_range.end}")
    failpoint("mirror.planned")
    folded = _fold(step, work, change_range)
    step.inform(f"{step.name}: {folded.plan.strategy}, {'; '.join(folded.plan.reasons)}, {_since(began):.1f} s")
    failpoint("mirror.merged")
    hold_initial(step.catalog, step.name, folded.statement.initial)
    kind = KIND_REBUILD if work.rebuild else KIND_MIRROR
    staged = _seal_all(work, change_range, folded.statement, kind)
    changelog = change_range.table.name()
    conditions: list[Condition] = [partial(still_in_main, step.catalog, changelog, change_range.uuid, change_range.end)]
    if work.needs_every_change:
        conditions.append(partial(still_unretired, step.catalog, step.name, change_range))
    published = publish(step.catalog, staged, leases=[_lease(work, change_range.end)], conditions=conditions)
    step.inform(f"{step.name}: published, {_since(began):.1f} s in all")
    return MirrorReport(
        step.name, kind, folded.statement, published, folded.plan, work.notes, change_range.behind, _since(began)
    )


def plan_work(step: MirrorStep) -> MirrorWork:
    """Look at all tables, and decide what to do; only columns and the lease may be changed by that.

    Raises:
        MirrorRefused: they do not fit together.
    """
    notes = tuple(evolve(step.tables, step.catalog))
    bases, changelog = read_bases(step.catalog, step.written), _changelog(step)
    if step.rebuild:
        previous = newest_statement(bases[step.name].table)
        work = MirrorWork(step.tables, step.catalog, step.attempt, bases, previous, notes=notes)
        return _leased(_rebuild(work, changelog))
    previous = stored_statement(step.name, bases)
    work = MirrorWork(step.tables, step.catalog, step.attempt, bases, previous, notes=notes)
    if previous is None:
        change_range = whole_range(step.name, changelog, max_changes=step.max_changes)
        if change_range is None or not (change_range.changes or step.tables.mirror.initial):
            return work
        if step.tables.mirror.initial is None:
            require = require_complete if change_range.arrived.is_from_beginning else require_unretired
            require(step.name, change_range)
        return _leased(replace(work, change_range=change_range))
    change_range = next_range(step.name, previous, changelog, max_changes=step.max_changes)
    if new := declared_since(previous.columns, step.tables.changelog):
        work = _rebuild_if_needed(work, changelog, previous, new)
    if work.rebuild or change_range is None:
        return _leased(work)
    require_files(step.name, change_range)
    return _leased(replace(work, change_range=change_range))


def _changelog(step: MirrorStep) -> Table:
    name = step.tables.changelog.name
    try:
        return read_group(step.catalog, [name])[name].table
    except NoSuchTableError as error:
        raise NoChangelog(step.name, name) from error


def _rebuild(work: MirrorWork, changelog: Table, *notes: str) -> MirrorWork:
    """The whole changelog, with nothing remembered."""
    mirror = work.tables.mirror.name
    change_range = whole_range(mirror, changelog)
    if change_range is not None:
        require_complete(mirror, change_range)
    return replace(work, change_range=change_range, rebuild=True, notes=(*work.notes, *notes))


def _rebuild_if_needed(
    work: MirrorWork, changelog: Table, previous: MirrorStatement, new_columns: Sequence[str]
) -> MirrorWork:
    """Rebuild, where changes that were applied already may have told of columns that are declared only now."""
    columns = ", ".join(new_columns)
    applied = applied_range(work.tables.mirror.name, changelog, replace(previous, start=None))
    if not undeclared_fields(changelog, files_of(applied)):
        return work
    try:
        return _rebuild(work, changelog, f"rebuilt, since changes told of {columns} before it was declared")
    except HistoryIncomplete as incomplete:
        lost = f"what changes told of {columns} before it was declared is not taken over: {incomplete.message}"
        return replace(work, notes=(*work.notes, lost))


def _leased(work: MirrorWork) -> MirrorWork:
    """Make sure that a lease is there before anything is read: the changelog's runs go on meanwhile.

    One that is elsewhere, as after a mirror that was rolled back, is moved to where this run begins.
    """
    if (change_range := work.change_range) is None:
        return work
    leased_snapshot_id = leases(change_range.table).get(lease_tag(work.tables.mirror.name))
    if leased_snapshot_id is None or change_range.start not in (None, leased_snapshot_id):
        take_lease(work.catalog, _lease(work, change_range.end if change_range.start is None else change_range.start))
    return work


def _lease(work: MirrorWork, snapshot_id: int) -> Lease:
    assert work.change_range is not None
    until = lease_until(work.tables.changelog.maintenance)
    mirror = work.tables.mirror.name
    changelog, reason = work.change_range.table.name(), f"{mirror} is to read on here"
    return Lease(changelog, work.change_range.uuid, mirror, snapshot_id, until, reason)


def _fold(step: MirrorStep, work: MirrorWork, change_range: Range) -> StagedRange:
    if not change_range.changes and work.continued is not None:
        return without_changes(work, change_range)
    with step.session() as spark:
        return fold(spark, work, change_range)


def _seal_all(work: MirrorWork, change_range: Range, statement: MirrorStatement, kind: str) -> list[Staged]:
    """Seal every table of the step, also those that received nothing."""
    return [
        seal_branch(
            work.catalog,
            base,
            work.attempt,
            Seal.of(
                work.attempt,
                kind,
                statement=statement.to_keys(),
                previous=base.sealed.seal if base.sealed else None,
                inputs={change_range.name: change_range.end},
            ),
        )
        for base in work.bases.values()
    ]


def _since(began: float) -> float:
    return time.monotonic() - began


__all__ = ["MAX_CHANGES", "MirrorReport", "MirrorStep", "mirror"]
