"""What a mirror's seal says after a range: the range itself, and what it adds up to with all before."""

from lakehouse.steps.cdc.fold.survey import RangeSurvey
from lakehouse.steps.cdc.plan.range import Range
from lakehouse.steps.cdc.plan.schema_evolution import declared_columns
from lakehouse.steps.cdc.statement import Applied, MirrorStatement
from lakehouse.steps.cdc.work import MirrorWork


def statement_after(
    work: MirrorWork, change_range: Range, range_survey: RangeSurvey, applied: Applied
) -> MirrorStatement:
    """What all tables of the step will say: this range, and what it adds up to with all before."""
    known, lateness = work.continued, work.tables.mirror.lateness
    progress = dict(known.progress) if known else {}
    for partition, time_us in range_survey.progress.items():
        progress[partition] = max(time_us, progress.get(partition, time_us))
    # It never goes back, or deletes that were forgotten would be. A rebuild knows every delete again, and begins anew:
    # a clock that was ahead is believed no longer.
    low = min(progress.values()) - int(lateness.total_seconds() * 1_000_000) if progress else 0
    if known is not None:
        low = max(low, known.low_watermark_us)
    totals = dict(known.total_operations) if known else {}
    for operation, count in range_survey.operations.items():
        totals[operation] = totals.get(operation, 0) + count
    soft = work.tables.mirror.deletes == "soft"
    return MirrorStatement(
        changelog=change_range.name,
        changelog_uuid=change_range.uuid,
        build=known.build if known else work.attempt.id,
        start=change_range.start,
        end=change_range.end,
        changes=range_survey.rows,
        operations=dict(range_survey.operations),
        total_operations=totals,
        digest=range_survey.digest,
        applied=applied,
        total_applied=(known.total_applied if known else Applied()) + applied,
        rows=(known.rows if known else 0) + applied.inserted - (0 if soft else applied.deleted),
        position=max((p for p in (known and known.position, range_survey.position) if p is not None), default=None),
        source_time_us=max(known.source_time_us if known else 0, range_survey.source_time_us),
        progress=progress,
        low_watermark_us=max(low, 0),
        truncated=max((p for p in (known and known.truncated, range_survey.truncated) if p is not None), default=None),
        moved=max((p for p in (known and known.moved, range_survey.moved) if p is not None), default=None),
        columns=declared_columns(work.tables.changelog),
        arrived_ms=range_survey.arrived_ms or (known.arrived_ms if known else 0),
        kafka_end=dict(change_range.arrived.end),
        reprocessed=change_range.arrived.reprocessed_rows(change_range.name),
    )
