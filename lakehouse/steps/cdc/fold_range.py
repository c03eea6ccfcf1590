"""One range, from the changelog's rows to sealed counts: survey, narrow, fold, choose, apply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from pyiceberg.manifest import DataFile
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lakehouse.declarations import MirrorTables
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import open_branch
from lakehouse.protocol.commit.rebase import added_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import is_rewrite
from lakehouse.steps.cdc.fold.clocks import Arrival
from lakehouse.steps.cdc.fold.dangling_tombstones import without_followers
from lakehouse.steps.cdc.fold.key_changes import complete
from lakehouse.steps.cdc.fold.recall import recalled
from lakehouse.steps.cdc.fold.resolve import Delta, resolve
from lakehouse.steps.cdc.fold.scope import FoldScope, SealedFold
from lakehouse.steps.cdc.fold.survey import RangeSurvey, survey
from lakehouse.steps.cdc.merge.apply import Target, append, apply_rows, collect_tombstones, marked, replace_all
from lakehouse.steps.cdc.merge.merge_plan import DeltaRows, MergePlan, Mode, Narrowed, choose, narrow, replacing
from lakehouse.steps.cdc.plan.file_pruning import holding
from lakehouse.steps.cdc.plan.range import Range
from lakehouse.steps.cdc.plan.reading import (
    changes_of,
    history_of,
    initial_rows,
    kept,
    rows_at,
    small_shuffles,
    touched_by,
)
from lakehouse.steps.cdc.plan.schema_evolution import conform, declared_columns, require_readable, undeclared_fields
from lakehouse.steps.cdc.refusals import ChangesDiffer, WithoutKey, WithoutPosition
from lakehouse.steps.cdc.statement import Applied, MirrorStatement

_FEW_CHANGES = 200_000


@dataclass(frozen=True)
class MirrorWork:
    """What a step has planned.

    Args:
        tables: the mirror.
        catalog: where its tables live.
        attempt: who writes.
        bases: the tables that it writes, as they were loaded together.
        previous: what the mirror's seals say; None before its first run.
        found: the range; None where there is nothing new.
        rebuild: whether everything is put in the place of what is there.
        notes: what a reader should know.
    """

    tables: MirrorTables
    catalog: LakeCatalog
    attempt: Attempt
    bases: Mapping[str, Base]
    previous: MirrorStatement | None
    found: Range | None = None
    rebuild: bool = False
    notes: tuple[str, ...] = ()

    @property
    def continued(self) -> MirrorStatement | None:
        """The statement on which this one builds; a rebuild builds on none."""
        return None if self.rebuild else self.previous

    @property
    def memory(self) -> SealedFold:
        """What the fold has to remember."""
        if (known := self.continued) is None:
            return SealedFold()
        return SealedFold(known.truncated, known.low_watermark_us, frozenset(known.behind), known.moved)


@dataclass(frozen=True)
class StagedRange:
    """What came of a range, on the attempt's branches: nobody sees it yet."""

    statement: MirrorStatement
    plan: MergePlan


def fold(spark: SparkSession, work: MirrorWork, found: Range) -> StagedRange:
    """Fold a range and write what comes of it to branches.

    Raises:
        MirrorRefused: one of its kinds.
    """
    tables, log = work.tables, work.tables.changelog
    with kept(changes_of(spark, found), found.changes) as raw, small_shuffles(spark, found.changes):
        seen = survey(raw, log, Arrival(found.sealed_us, tables.mirror.lateness))
        _require_sound(work, found, seen)
        changes, initial = _shaped(spark, work, found, raw)
        scope = FoldScope.of(log, tables.mirror, work.memory, seen)
        if found.reprocessed:
            changes = _recalled(spark, work, found, changes)
            # All that is known of their keys is in sight, so nothing of them is too late.
            scope = FoldScope.of(log, tables.mirror, replace(work.memory, low_watermark_us=0), survey(changes, log))
        if scope.lone_tombstones and found.start is not None:
            changes = without_followers(changes, history_of(spark, found))
        if scope.moving:
            changes = _completed(spark, work, found, changes, scope)
        narrowed = _narrowed(work, changes, scope)
        mirror, ledger = (None, None) if work.rebuild else _stored(spark, work, narrowed)
        delta = resolve(changes, scope, mirror, ledger, few=found.changes <= _FEW_CHANGES)
    plan = _plan(work, narrowed, delta.applied)
    target = Target(work.catalog, work.bases[tables.mirror.name], work.attempt, log)
    before = work.continued.rows if work.continued else 0
    with small_shuffles(spark, narrowed.rows + delta.applied.inserted):
        plan = apply_rows(spark, target, delta.rows, plan, before=before)
    said = state(work, found, seen, delta.applied)
    said = replace(said, behind=tuple(sorted(delta.behind)), initial=initial, plan=plan.to_json())
    _write_rest(spark, work, delta, seen, said)
    return StagedRange(said, plan)


def without_changes(work: MirrorWork, found: Range) -> StagedRange:
    """A range in which the changelog only moved on."""
    plan = MergePlan("nothing", None, DeltaRows(), reasons=("the range has no rows",))
    said = state(work, found, RangeSurvey(), Applied())
    known = work.continued
    behind, initial = (known.behind, known.initial) if known else ((), "")
    return StagedRange(replace(said, behind=behind, initial=initial, plan=plan.to_json()), plan)


def state(work: MirrorWork, found: Range, seen: RangeSurvey, applied: Applied) -> MirrorStatement:
    """What all tables of the step will say: this range, and what it adds up to with all before."""
    known, lateness = work.continued, work.tables.mirror.lateness
    progress = dict(known.progress) if known else {}
    for partition, time_us in seen.progress.items():
        progress[partition] = max(time_us, progress.get(partition, time_us))
    # It never goes back, or deletes that were forgotten would be. A rebuild knows every delete again, and begins anew:
    # a clock that was ahead is believed no longer.
    low = min(progress.values()) - int(lateness.total_seconds() * 1_000_000) if progress else 0
    if known is not None:
        low = max(low, known.low_watermark_us)
    totals = dict(known.total_operations) if known else {}
    for operation, count in seen.operations.items():
        totals[operation] = totals.get(operation, 0) + count
    soft = work.tables.mirror.deletes == "soft"
    return MirrorStatement(
        changelog=found.name,
        changelog_uuid=found.uuid,
        build=known.build if known else work.attempt.id,
        start=found.start,
        end=found.end,
        changes=seen.rows,
        operations=dict(seen.operations),
        total_operations=totals,
        digest=seen.digest,
        applied=applied,
        total_applied=(known.total_applied if known else Applied()) + applied,
        rows=(known.rows if known else 0) + applied.inserted - (0 if soft else applied.deleted),
        position=max((p for p in (known and known.position, seen.position) if p is not None), default=None),
        source_time_us=max(known.source_time_us if known else 0, seen.source_time_us),
        progress=progress,
        low_watermark_us=max(low, 0),
        truncated=max((p for p in (known and known.truncated, seen.truncated) if p is not None), default=None),
        moved=max((p for p in (known and known.moved, seen.moved) if p is not None), default=None),
        columns=declared_columns(work.tables.changelog),
        arrived_ms=seen.arrived_ms or (known.arrived_ms if known else 0),
        kafka_end=dict(found.arrived.end),
        reprocessed=found.arrived.reprocessed_rows(found.name),
    )


def files_of(found: Range) -> list[DataFile]:
    """The data files of a range, by manifests."""
    if found.start is None:
        return [task.file for task in found.table.scan(snapshot_id=found.end).plan_files()]
    return [
        file for snapshot in found.snapshots if not is_rewrite(snapshot) for file in added_files(found.table, snapshot)
    ]


def _require_sound(work: MirrorWork, found: Range, seen: RangeSurvey) -> None:
    mirror = work.tables.mirror.name
    if seen.rows != found.changes and (found.start is not None or work.rebuild):
        raise ChangesDiffer(mirror, found.name, found.end, found.changes, seen.rows)
    if seen.unplaced:
        raise WithoutPosition(mirror, found.name, found.end, seen.unplaced)
    if seen.unkeyed:
        raise WithoutKey(mirror, found.name, found.end, seen.unkeyed)


def _shaped(spark: SparkSession, work: MirrorWork, found: Range, raw: DataFrame) -> tuple[DataFrame, str]:
    """Changes as declared, and those that stand for the rows with which the mirror begins."""
    log, mirror = work.tables.changelog, work.tables.mirror.name
    told = undeclared_fields(found.table, files_of(found))
    if told:
        require_readable(raw, log, mirror)
    changes = conform(raw, log, mirror, told=told)
    if work.continued is not None:
        return changes, work.continued.initial
    pinned = work.previous.initial if work.previous else ""
    reads, initial = initial_rows(spark, work.catalog, work.tables, pinned)
    return changes if reads is None else changes.unionByName(reads), initial


def _recalled(spark: SparkSession, work: MirrorWork, found: Range, changes: DataFrame) -> DataFrame:
    """The changes with all others of their keys."""
    mirror, log = work.tables.mirror.name, work.tables.changelog
    past = conform(history_of(spark, found), log, mirror, told=True)
    refused = rows_at(spark, work.bases[work.tables.quarantine.name])
    if refused is not None and work.continued is not None:
        refused = refused.filter(f.col("build") == work.continued.build)
    return recalled(changes, past, refused, log)


def _completed(spark: SparkSession, work: MirrorWork, found: Range, changes: DataFrame, scope: FoldScope) -> DataFrame:
    """The changes with what changes of key have left out: their old keys may be anywhere in the changelog."""
    log, mirror = work.tables.changelog, work.tables.mirror.name
    past = None if found.start is None else conform(history_of(spark, found), log, mirror, told=True)
    rows = None if work.rebuild else _mirror_rows(spark, work)
    return complete(changes, scope, past=past, mirror_rows=rows, few=found.changes <= _FEW_CHANGES)


def _narrowed(work: MirrorWork, changes: DataFrame, scope: FoldScope) -> Narrowed:
    """The part of the mirror that the changes can touch; where a truncate is among them, all of it."""
    base, log = work.bases[work.tables.mirror.name], work.tables.changelog
    if work.rebuild or not base.has_rows:
        return Narrowed((), 0)
    files = holding(base.table, base.snapshot_id, log.key).files
    if scope.truncating:
        return Narrowed(files, len(files), words=("a truncate",))
    types = {field.name: field.field_type for field in base.table.schema().fields}
    return narrow(files, touched_by(changes, log, base), types)


def _stored(spark: SparkSession, work: MirrorWork, narrowed: Narrowed) -> tuple[DataFrame | None, DataFrame | None]:
    """What mirror and ledger hold, as the step found them, of the part that matters."""
    ledger = work.bases[work.tables.mirror.tombstones_name]
    rows = _mirror_rows(spark, work, narrowed.literals) if narrowed.files else None
    return rows, rows_at(spark, ledger, narrowed.literals)


def _mirror_rows(spark: SparkSession, work: MirrorWork, literals: Sequence[str] = ()) -> DataFrame | None:
    """The mirror as the step found it, null in columns that were added since (a snapshot keeps its schema)."""
    rows = rows_at(spark, work.bases[work.tables.mirror.name], literals)
    if rows is None:
        return None
    columns = work.tables.changelog.columns
    later = {column.name: f.lit(None).cast(column.type) for column in columns if column.name not in rows.columns}
    return rows.withColumns(later) if later else rows


def _plan(work: MirrorWork, narrowed: Narrowed, applied: Applied) -> MergePlan:
    mirror = work.tables.mirror
    if work.rebuild:
        return replacing(applied.inserted, "everything is folded anew", *work.notes)
    # Where deletes are soft, a deleted row is a row that changes.
    changed, gone = applied.updated, applied.deleted
    rows = (
        DeltaRows(applied.inserted, changed, gone)
        if mirror.deletes == "hard"
        else DeltaRows(applied.inserted, changed + gone)
    )
    plan = choose(narrowed, rows, asked=cast("Mode | None", mirror.properties.get("write.merge.mode")))
    return plan.because(*work.notes) if work.notes else plan


def _write_rest(spark: SparkSession, work: MirrorWork, delta: Delta, seen: RangeSurvey, said: MirrorStatement) -> None:
    """Deleted keys to the ledger, refused changes to quarantine."""
    _, ledger, quarantine = (work.bases[table.name] for table in work.tables.tables)
    gone = sum(seen.operations.get(operation, 0) for operation in ("delete", "tombstone"))
    hard = work.tables.mirror.deletes == "hard"
    with marked(spark, work.attempt):
        if work.rebuild and ledger.has_rows:
            open_branch(work.catalog, ledger, work.attempt)
            replace_all(delta.tombstones, ledger, work.attempt)
        elif gone and hard:
            open_branch(work.catalog, ledger, work.attempt)
            append(delta.tombstones, ledger, work.attempt, gone)
        if refused := said.applied.contradictions + said.applied.too_late:
            rows = delta.refused.withColumns({"build": f.lit(said.build), "run_id": f.lit(work.attempt.run_id)})
            open_branch(work.catalog, quarantine, work.attempt)
            append(rows, quarantine, work.attempt, refused)
    if not work.rebuild:
        collect_tombstones(work.catalog, ledger, work.attempt, said.low_watermark_us)
