"""What has to be known beside the changes of a range before they are folded.

That is all other changes of keys that the quarantine gives back, what tombstones without a position follow, and what
changes of key have left out. It is looked up in the changelog up to the range's end, in the mirror, and in what the
mirror has refused.
"""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lakehouse.steps.cdc.fold.dangling_tombstones import copied_rows, placed, standing_rows
from lakehouse.steps.cdc.fold.key_changes import complete
from lakehouse.steps.cdc.fold.last_writer_wins import TOO_LATE
from lakehouse.steps.cdc.fold.reprocessed_changes import recalled, without_refused
from lakehouse.steps.cdc.fold.scope import FoldScope
from lakehouse.steps.cdc.fold.survey import survey
from lakehouse.steps.cdc.plan.initial_load import COPIED
from lakehouse.steps.cdc.plan.range import Range, total
from lakehouse.steps.cdc.plan.reading import history_of, rows_at
from lakehouse.steps.cdc.plan.schema_evolution import conform
from lakehouse.steps.cdc.work import MirrorWork


def looks_far(work: MirrorWork, change_range: Range, scope: FoldScope, *, rows: int) -> bool:
    """Whether more than so many rows may be read beside the range: an initial copy, or all of the changelog."""
    if work.continued is None and work.tables.mirror.initial is not None:
        return True
    cut_off = scope.lone_tombstones and work.continued is not None
    if not (change_range.reprocessed or cut_off or scope.moving):
        return False
    end = change_range.table.metadata.snapshot_by_id(change_range.end)
    return end is None or total(end) > rows


def gather(
    spark: SparkSession, work: MirrorWork, change_range: Range, changes: DataFrame, scope: FoldScope, *, few: bool
) -> tuple[DataFrame, FoldScope]:
    """The changes with what has to be known beside them, and the scope that they have by then."""
    if change_range.reprocessed:
        log, mirror = work.tables.changelog, work.tables.mirror
        changes = _recalled(spark, work, change_range, changes)
        # All that is known of their keys is in sight, so nothing of them is too late.
        scope = FoldScope.of(log, mirror, replace(work.memory, low_watermark_us=0), survey(changes, log))
    if scope.lone_tombstones:
        changes = _placed(spark, work, change_range, changes)
    if scope.moving:
        changes = _completed(spark, work, change_range, changes, scope, few=few)
    return changes, scope


def _recalled(spark: SparkSession, work: MirrorWork, change_range: Range, changes: DataFrame) -> DataFrame:
    """The changes with all others of their keys."""
    mirror, log = work.tables.mirror.name, work.tables.changelog
    past = conform(history_of(spark, change_range), log, mirror, read_extra=True)
    return recalled(changes, past, _refused(spark, work), log)


def _placed(spark: SparkSession, work: MirrorWork, change_range: Range, changes: DataFrame) -> DataFrame:
    """The changes, with tombstones by what they follow: an earlier change, or a row that outlived its change."""
    if work.continued is None:
        if not work.tables.mirror.initial:
            return changes
        copied = f.col("_kafka_partition") == COPIED
        return placed(changes, changes.filter(~copied), copied_rows(changes.filter(copied)))
    rows, refused = mirror_rows(spark, work), _refused(spark, work)
    past = history_of(spark, change_range)
    if refused is not None:
        past = without_refused(past, refused.filter(f.col("reason") == TOO_LATE))
    soft = work.tables.mirror.deletes == "soft"
    return placed(changes, past, None if rows is None else standing_rows(rows, work.tables.changelog, soft=soft))


def _refused(spark: SparkSession, work: MirrorWork) -> DataFrame | None:
    """What this build of the mirror has refused; None: nothing."""
    refused = rows_at(spark, work.bases[work.tables.quarantine.name])
    return (
        refused if refused is None or work.continued is None else refused.filter(f.col("build") == work.continued.build)
    )


def _completed(
    spark: SparkSession, work: MirrorWork, change_range: Range, changes: DataFrame, scope: FoldScope, *, few: bool
) -> DataFrame:
    """The changes with what changes of key have left out: their old keys may be anywhere in the changelog."""
    log, mirror = work.tables.changelog, work.tables.mirror.name
    past = (
        None if change_range.start is None else conform(history_of(spark, change_range), log, mirror, read_extra=True)
    )
    rows = None if work.rebuild else mirror_rows(spark, work)
    return complete(changes, scope, past=past, mirror_rows=rows, few=few)


def mirror_rows(spark: SparkSession, work: MirrorWork, literals: Sequence[str] = ()) -> DataFrame | None:
    """The mirror as the step found it, null in columns that were added since (a snapshot keeps its schema)."""
    rows = rows_at(spark, work.bases[work.tables.mirror.name], literals)
    if rows is None:
        return None
    columns = work.tables.changelog.columns
    later = {column.name: f.lit(None).cast(column.type) for column in columns if column.name not in rows.columns}
    return rows.withColumns(later) if later else rows
