"""What Dagster has recorded of a check, as the gate of a release wants to know it."""

import dagster as dg
from dagster import AssetCheckKey, DagsterInstance, DagsterRunStatus

# What `get_asset_check_execution_history` returns; Dagster has no public name for it.
from dagster._core.storage.asset_check_execution_record import (
    AssetCheckExecutionRecord,
    AssetCheckExecutionRecordStatus,
)

from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.steps.release.gate.results import Check, Result

SNAPSHOT_KEY = "snapshot id"
_ELSEWHERE = f"{SNAPSHOT_KEY} of "  # and the name of another table that the check has judged as well
# A stream goes on, and is judged again and again, while tables are computed from what it was.
_LOOKED_BACK = 50


def check_history(instance: DagsterInstance, key: AssetCheckKey, names: DagsterNames = DEFAULT_NAMES) -> Check:
    """The newest results of a check, newest first.

    Dagster writes a record when a run plans a check and completes it with the result. One that stays without: its run
    is still going on, or has ended badly, so the check errored, or has ended well without the check, which is nothing.
    """
    records = instance.event_log_storage.get_asset_check_execution_history(key, limit=_LOOKED_BACK)
    results = [result for record in records if (result := _result(instance, record)) is not None]
    return Check(names.table(key.asset_key), key.name, tuple(results))


def _result(instance: DagsterInstance, record: AssetCheckExecutionRecord) -> Result | None:
    if record.status is AssetCheckExecutionRecordStatus.PLANNED:
        run = instance.get_run_by_id(record.run_id)
        if run is None or run.status is DagsterRunStatus.SUCCESS:
            return None
        return Result("errored" if run.is_finished else "running", run_id=record.run_id)
    evaluation = record.evaluation
    assert evaluation is not None
    # What only warns has been let through by declaration.
    passed = evaluation.passed or evaluation.severity is not dg.AssetCheckSeverity.ERROR
    return Result(
        "passed" if passed else "failed",
        snapshot_id=_snapshot(evaluation),
        run_id=record.run_id,
        description=evaluation.description or "",
        elsewhere={
            label.removeprefix(_ELSEWHERE): snapshot_id
            for label in evaluation.metadata
            if label.startswith(_ELSEWHERE) and (snapshot_id := _snapshot(evaluation, label)) is not None
        },
    )


def _snapshot(evaluation: dg.AssetCheckEvaluation, label: str = SNAPSHOT_KEY) -> int | None:
    named = evaluation.metadata.get(label)
    text = str(named.value) if named is not None else ""
    return int(text) if text.isdecimal() else None
