"""Tells in one line each what becomes of the runs that Dagster's services start."""

import dagster as dg
from dagster import DagsterEventType, DagsterRunStatus, RunsFilter

from lakehouse.cli.context import Context
from lakehouse.cli.processes.run_context import say
from lakehouse.cli.reports.failure import reason
from lakehouse.orchestration.dagster_names import DagsterNames
from lakehouse.orchestration.run_context import MIRROR_TAG, STREAM_TAG

_RECENT = 25
_EVENTS = {
    DagsterRunStatus.STARTED: "running",
    DagsterRunStatus.SUCCESS: "succeeded",
    DagsterRunStatus.FAILURE: "FAILED",
    DagsterRunStatus.CANCELED: "canceled",
}
# What a materialization says of rows, and how it is told; all but the first two are of mirrors alone.
_SIGNS = {"rows added": "+", "rows written": "=", "rows inserted": "+", "rows updated": "~", "rows deleted": "-"}


class Followed:
    """The newest runs of an instance, and what was told of them."""

    def __init__(self, context: Context, instance: dg.DagsterInstance) -> None:
        """Take what is there now as told."""
        self._context = context
        self._names = DagsterNames.of(context.settings)
        self._instance = instance
        self._known = {record.dagster_run.run_id: record.dagster_run.status for record in self._recent()}

    def tell(self) -> None:
        """Print what changed since the last call."""
        for record in reversed(self._recent()):
            run = record.dagster_run
            if self._known.get(run.run_id) is run.status:
                continue
            self._known[run.run_id] = run.status
            if event := _EVENTS.get(run.status):
                chosen = ", ".join(sorted(self._names.table(key) for key in run.asset_selection or []))
                stream = run.tags.get(STREAM_TAG) or run.tags.get(MIRROR_TAG) or chosen or "all assets"
                rows = f": {self._rows(run.run_id)}" if run.status is DagsterRunStatus.SUCCESS else ""
                say(self._context, f"run {run.run_id[:8]} of {stream} {event}{rows}")
                if run.status is DagsterRunStatus.FAILURE:
                    for reason in self._reasons(run.run_id):
                        say(self._context, f"  {reason}")

    def _recent(self) -> "list[dg.RunRecord]":
        return list(self._instance.get_run_records(RunsFilter(), limit=_RECENT))

    def _reasons(self, run_id: str) -> list[str]:
        """Why the steps of a run failed."""
        logs = self._instance.all_logs(run_id, of_type=DagsterEventType.STEP_FAILURE)
        return [reason(entry.dagster_event.step_failure_data) for entry in logs if entry.dagster_event]

    def _rows(self, run_id: str) -> str:
        """`+842 raw.flights`, `=36 mart.days` where rows were written anew, `+3 ~12 -1 mirror.flights`, a release's id.

        What stayed as it was is left out.
        """
        logs = self._instance.all_logs(run_id, of_type=DagsterEventType.ASSET_MATERIALIZATION)
        # A partitioned table has one materialization for each partition of the run, and all tell of the same commit.
        summaries: dict[str, None] = {}
        for entry in logs:
            materialization = entry.asset_materialization
            if materialization and (counts := _counts(materialization)):
                summaries[f"{counts} {self._names.table(materialization.asset_key)}"] = None
            if materialization and (release := materialization.metadata.get("release")):
                summaries[f"released {release.value}"] = None
        return ", ".join(summaries) or "nothing new"


def _counts(materialization: dg.AssetMaterialization) -> str:
    values = [(sign, materialization.metadata.get(name)) for name, sign in _SIGNS.items()]
    counts = " ".join(f"{sign}{count.value:,}" for sign, count in values if count and count.value)
    # Maintenance adds no rows, and has its own word.
    return (
        counts or str(materialization.metadata["in short"].value) if "in short" in materialization.metadata else counts
    )
