"""What a reader of Dagster's UI learns of a run of maintenance: what was decided, why, and what came of it."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources.maintenance_metadata import decision_metadata, maintenance_key, numbers
from lakehouse.orchestration.resources.materialization import rows_shown, write_tags
from lakehouse.orchestration.run_context import ALLOW_TAG, MAINTENANCE_TAG
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.maintenance.model.action import ActionOutcome, Operation
from lakehouse.steps.maintenance.report import MaintainReport
from lakehouse.steps.maintenance.survey import Surveyed

# Of what an operation changes: its name in `TableMeasure`, and as a person reads it.
_OF_FILES = (("files", "files"), ("plan_ms", "ms to plan a scan"))
_OF_OTHERS = {
    Operation.MANIFESTS: (("files", "manifests"), ("plan_ms", "ms to read them")),
    Operation.EXPIRE: (("snapshots", "snapshots"),),
}


def maintenance_result(
    report: MaintainReport, surveyed: Surveyed, attempt: Attempt, names: DagsterNames = DEFAULT_NAMES
) -> dg.MaterializeResult[Any]:
    """The result of a run that has looked at a table.

    Args:
        report: what was done.
        surveyed: the table and the plan.
        attempt: who worked.
        names: how Dagster knows the asset.
    """
    name = surveyed.declared.name
    metadata: dict[str, Any] = {
        **decision_metadata(surveyed),
        # Afterwards, where something was done: a curve is to show what it brought.
        **(numbers(report.after) if report.after is not None else {}),
        "in short": ", ".join(f"{outcome.action.operation} {outcome.result}" for outcome in report.outcomes)
        or "nothing to do",
        "done": _outcomes(report.outcomes),
        "attempt": attempt.id,
        "seconds": round(report.seconds, 2),
    }
    if any(outcome.result == "dry_run" for outcome in report.outcomes):
        metadata["to do what was only shown"] = f"run it again with the tag {ALLOW_TAG}={surveyed.plan.state_digest}"
    if report.outcomes:
        metadata["before and after"] = dg.MetadataValue.md(compared_markdown(report.outcomes))
    if report.completed:
        metadata["decisions of dead runs that were completed"] = report.completed
    return dg.MaterializeResult(
        asset_key=maintenance_key(name, names), metadata=metadata, tags={**write_tags(attempt), MAINTENANCE_TAG: name}
    )


def compared_markdown(outcomes: Sequence[ActionOutcome]) -> str:
    """What each action has changed of the table, and what it cost."""
    lines = ["| operation | | before | after |", "|---|---|---:|---:|"]
    for outcome in outcomes:
        if (after := outcome.after) is None:
            continue
        operation, before = outcome.action.operation, outcome.before
        for field, word in _OF_OTHERS.get(operation, _OF_FILES):
            if getattr(before, field) or getattr(after, field):
                lines.append(f"| {operation} | {word} | {getattr(before, field):,.0f} | {getattr(after, field):,.0f} |")
        lines += [f"| {operation} | bytes written | | {after.bytes:,} |"] if after.bytes else []
        lines += [f"| {operation} | seconds | | {after.seconds:,.1f} |"]
    return "\n".join(lines)


def _outcomes(outcomes: Sequence[ActionOutcome]) -> dg.TableMetadataValue:
    columns = {"operation": "string", "result": "string", "in words": "string", "facts": "string"}
    rows = [
        (
            str(outcome.action.operation),
            outcome.result,
            outcome.message,
            ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in outcome.effect.counted().items()),
        )
        for outcome in outcomes
    ]
    return rows_shown(columns, rows)
