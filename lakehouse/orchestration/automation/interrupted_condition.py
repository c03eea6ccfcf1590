"""A condition that Dagster has none for: the run that was asked for came to no end of its own.

A run that ends in order has made a table anew, or has found why it cannot: to ask again would end the same way. A run
that was canceled, or whose process was killed, has found nothing, so what it was asked for is still to be done.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dagster import AssetKey, AutomationCondition, AutomationContext, AutomationResult, DagsterRunStatus, RunRecord

# The reasons that Dagster tells failed runs apart by, and the records that are fetched once for a look.
from dagster._core.events import RunFailureReason
from dagster._core.storage.event_log.base import AssetRecord
from dagster._core.storage.tags import RUN_FAILURE_REASON_TAG
from typing_extensions import override

FOLLOWING_TAG = "lakehouse/following"
# Nobody cancels a run to see the same at once, and what has killed one run may kill the next.
REST = timedelta(minutes=5)


@dataclass(frozen=True)
class Interrupted(AutomationCondition[AssetKey]):
    """An asset was asked for by these conditions, and the run was cut short before it had made it.

    Attributes:
        lately: only if that is less than `REST` ago.
    """

    lately: bool = False

    @property
    @override
    def name(self) -> str:
        return "interrupted_lately" if self.lately else "interrupted"

    @override
    def evaluate(self, context: AutomationContext[AssetKey]) -> AutomationResult[AssetKey]:
        interrupted_at = _interrupted(context)
        true = interrupted_at is not None and not (self.lately and context.evaluation_time - interrupted_at >= REST)
        return AutomationResult(context, context.candidate_subset if true else context.get_empty_subset())


def _interrupted(context: AutomationContext[AssetKey]) -> datetime | None:
    """When the newest run that was to make the asset was cut short, before it had."""
    view = context.asset_graph_view
    asset = AssetRecord.blocking_get(view, context.key)
    if asset is None or (run_id := asset.asset_entry.last_run_id) is None:
        return None
    run = RunRecord.blocking_get(view, run_id)
    if run is None or not _cut_short(run) or _made(asset, run_id):
        return None
    return datetime.fromtimestamp(run.end_time or run.update_timestamp.timestamp(), UTC)


def _cut_short(record: RunRecord) -> bool:
    run = record.dagster_run
    if FOLLOWING_TAG not in run.tags:
        return False
    if run.status is DagsterRunStatus.FAILURE:
        return run.tags.get(RUN_FAILURE_REASON_TAG) != RunFailureReason.STEP_FAILURE.value
    return run.status is DagsterRunStatus.CANCELED


def _made(asset: AssetRecord, run_id: str) -> bool:
    """Whether the run has made it, also if Dagster was told so afterwards (see `unreported_materializations`)."""
    materialization = asset.asset_entry.last_materialization
    if materialization is None or materialization.asset_materialization is None:
        return False
    publisher = materialization.asset_materialization.metadata.get("published by run")
    return run_id in (materialization.run_id, publisher.value if publisher is not None else None)
