"""One range, from the changelog's rows to sealed counts: survey, narrow, fold, choose, apply."""

from dataclasses import replace
from typing import cast

from pyiceberg.manifest import DataFile
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lakehouse.engines.spark import interpreted
from lakehouse.protocol.commit import open_branch
from lakehouse.protocol.commit.rebase import added_files
from lakehouse.protocol.seals.history import is_rewrite
from lakehouse.steps.cdc.fold.clocks import Arrival
from lakehouse.steps.cdc.fold.rows_to_write import Delta, resolve
from lakehouse.steps.cdc.fold.scope import FoldScope
from lakehouse.steps.cdc.fold.survey import RangeSurvey, survey
from lakehouse.steps.cdc.merge.apply import Target, append, apply_rows, collect_tombstones, marked, replace_all
from lakehouse.steps.cdc.merge.merge_plan import DeltaRows, MergePlan, Mode, Narrowed, choose, narrow, replacing
from lakehouse.steps.cdc.plan.file_pruning import holding
from lakehouse.steps.cdc.plan.range import Range
from lakehouse.steps.cdc.plan.reading import (
    changes_of,
    initial_rows,
    kept,
    rows_at,
    small_shuffles,
    touched_by,
)
from lakehouse.steps.cdc.plan.schema_evolution import conform, require_readable, undeclared_fields
from lakehouse.steps.cdc.range_context import gather, looks_far, mirror_rows
from lakehouse.steps.cdc.range_statement import statement_after
from lakehouse.steps.cdc.refusals import ChangesDiffer, WithoutKey, WithoutPosition
from lakehouse.steps.cdc.statement import Applied, MirrorStatement
from lakehouse.steps.cdc.work import MirrorWork, StagedRange

_FEW_CHANGES = 200_000
# So few changes, and so few rows that their keys can be among, are not worth a compiled plan.
_HANDFUL = 10_000
_HANDFUL_READ = 100_000


def fold(spark: SparkSession, work: MirrorWork, change_range: Range) -> StagedRange:
    """Fold a range and write what comes of it to branches.

    Raises:
        MirrorRefused: one of its kinds.
    """
    tables, log, few = work.tables, work.tables.changelog, change_range.changes <= _FEW_CHANGES
    with kept(changes_of(spark, change_range), change_range.changes) as raw:
        handful = change_range.changes <= _HANDFUL
        with interpreted(spark, when=handful), small_shuffles(spark, change_range.changes):
            range_survey = survey(raw, log, Arrival(change_range.sealed_us, tables.mirror.lateness))
            _require_sound(work, change_range, range_survey)
            changes, initial = _shaped(spark, work, change_range, raw)
        scope = FoldScope.of(log, tables.mirror, work.memory, range_survey)
        handful = handful and not looks_far(work, change_range, scope, rows=_HANDFUL_READ)
        with interpreted(spark, when=handful), small_shuffles(spark, change_range.changes):
            changes, scope = gather(spark, work, change_range, changes, scope, few=few)
            narrowed = _narrowed(work, changes, scope)
        handful = handful and narrowed.rows <= _HANDFUL_READ
        with interpreted(spark, when=handful), small_shuffles(spark, change_range.changes):
            mirror, ledger = (None, None) if work.rebuild else _stored(spark, work, narrowed)
            delta = resolve(changes, scope, mirror, ledger, few=few)
    plan = _plan(work, narrowed, delta.applied)
    target = Target(work.catalog, work.bases[tables.mirror.name], work.attempt, log)
    before = work.continued.rows if work.continued else 0
    shuffled = change_range.changes if handful else narrowed.rows + delta.applied.inserted
    statement = statement_after(work, change_range, range_survey, delta.applied)
    with interpreted(spark, when=handful), small_shuffles(spark, shuffled):
        plan = apply_rows(spark, target, delta.rows, plan, before=before)
        statement = replace(statement, behind=tuple(sorted(delta.behind)), initial=initial, plan=plan.to_json())
        _write_rest(spark, work, delta, range_survey, statement)
    return StagedRange(statement, plan)


def without_changes(work: MirrorWork, change_range: Range) -> StagedRange:
    """A range in which the changelog only moved on."""
    plan = MergePlan("nothing", None, DeltaRows(), reasons=("the range has no rows",))
    statement = statement_after(work, change_range, RangeSurvey(), Applied())
    known = work.continued
    behind, initial = (known.behind, known.initial) if known else ((), "")
    return StagedRange(replace(statement, behind=behind, initial=initial, plan=plan.to_json()), plan)


def files_of(change_range: Range) -> list[DataFile]:
    """The data files of a range, by manifests."""
    if change_range.start is None:
        return [task.file for task in change_range.table.scan(snapshot_id=change_range.end).plan_files()]
    return [
        file
        for snapshot in change_range.snapshots
        if not is_rewrite(snapshot)
        for file in added_files(change_range.table, snapshot)
    ]


def _require_sound(work: MirrorWork, change_range: Range, range_survey: RangeSurvey) -> None:
    mirror = work.tables.mirror.name
    if range_survey.rows != change_range.changes and (change_range.start is not None or work.rebuild):
        raise ChangesDiffer(mirror, change_range.name, change_range.end, change_range.changes, range_survey.rows)
    if range_survey.unplaced:
        raise WithoutPosition(mirror, change_range.name, change_range.end, range_survey.unplaced)
    if range_survey.unkeyed:
        raise WithoutKey(mirror, change_range.name, change_range.end, range_survey.unkeyed)


def _shaped(spark: SparkSession, work: MirrorWork, change_range: Range, raw: DataFrame) -> tuple[DataFrame, str]:
    """Changes as declared, and those that stand for the rows with which the mirror begins."""
    log, mirror = work.tables.changelog, work.tables.mirror.name
    undeclared = undeclared_fields(change_range.table, files_of(change_range))
    if undeclared:
        require_readable(raw, log, mirror)
    changes = conform(raw, log, mirror, read_extra=undeclared)
    if work.continued is not None:
        return changes, work.continued.initial
    pinned = work.previous.initial if work.previous else ""
    reads, initial = initial_rows(spark, work.catalog, work.tables, pinned)
    return changes if reads is None else changes.unionByName(reads), initial


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
    rows = mirror_rows(spark, work, narrowed.pruning) if narrowed.files else None
    return rows, rows_at(spark, ledger, narrowed.literals)


def _plan(work: MirrorWork, narrowed: Narrowed, applied: Applied) -> MergePlan:
    mirror = work.tables.mirror
    if work.rebuild:
        return replacing(applied.inserted, "everything is folded anew", *work.notes)
    # Where deletes are soft, a deleted row is a row that changes.
    updated, deleted = applied.updated, applied.deleted
    rows = (
        DeltaRows(applied.inserted, updated, deleted)
        if mirror.deletes == "hard"
        else DeltaRows(applied.inserted, updated + deleted)
    )
    plan = choose(narrowed, rows, declared_mode=cast("Mode | None", mirror.properties.get("write.merge.mode")))
    return plan.because(*work.notes) if work.notes else plan


def _write_rest(
    spark: SparkSession, work: MirrorWork, delta: Delta, range_survey: RangeSurvey, statement: MirrorStatement
) -> None:
    """Deleted keys to the ledger, refused changes to quarantine."""
    _, ledger, quarantine = (work.bases[table.name] for table in work.tables.tables)
    deletes = sum(range_survey.operations.get(operation, 0) for operation in ("delete", "tombstone"))
    hard = work.tables.mirror.deletes == "hard"
    with marked(spark, work.attempt):
        if work.rebuild and ledger.has_rows:
            open_branch(work.catalog, ledger, work.attempt)
            replace_all(delta.tombstones, ledger, work.attempt)
        elif deletes and hard:
            open_branch(work.catalog, ledger, work.attempt)
            append(delta.tombstones, ledger, work.attempt, deletes)
        if refused := statement.applied.contradictions + statement.applied.too_late:
            rows = delta.refused.withColumns({"build": f.lit(statement.build), "run_id": f.lit(work.attempt.run_id)})
            open_branch(work.catalog, quarantine, work.attempt)
            append(rows, quarantine, work.attempt, refused)
    if not work.rebuild:
        collect_tombstones(work.catalog, ledger, work.attempt, statement.low_watermark_us)
