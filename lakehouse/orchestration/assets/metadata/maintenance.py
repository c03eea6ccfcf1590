"""What a reader of Dagster's UI learns of a run of maintenance: what was decided, why, and what came of it."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from lakehouse.orchestration.resources.maintenance_metadata import decision_metadata, maintenance_key, numbers
from lakehouse.orchestration.resources.materialization import rows_shown, write_tags
from lakehouse.orchestration.run_context import ALLOW_TAG, MAINTENANCE_TAG
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.maintenance.model.action import ActionOutcome, Operation, fewer
from lakehouse.steps.maintenance.report import MaintainReport
from lakehouse.steps.maintenance.survey import Surveyed

_WORDS = (
    ("files fewer", "files_removed"),
    ("bytes written", "bytes"),
    ("seconds", "seconds"),
    ("planning ms saved", "plan_ms"),
    ("commit ms saved", "commit_ms"),
)


def maintenance_result(report: MaintainReport, found: Surveyed, attempt: Attempt) -> dg.MaterializeResult[Any]:
    """The result of a run that has looked at a table.

    Args:
        report: what was done.
        found: the table and the plan.
        attempt: who worked.
    """
    name = found.declared.name
    metadata: dict[str, Any] = {
        **decision_metadata(found),
        # Afterwards, where something was done: a curve is to show what it brought.
        **(numbers(report.after) if report.after is not None else {}),
        "in short": ", ".join(f"{one.action.operation} {one.result}" for one in report.outcomes) or "nothing to do",
        "done": _outcomes(report.outcomes),
        "attempt": attempt.id,
        "seconds": round(report.seconds, 2),
    }
    if any(one.result == "dry_run" for one in report.outcomes):
        metadata["to do what was only shown"] = f"run it again with the tag {ALLOW_TAG}={found.plan.state_digest}"
    if report.outcomes:
        metadata["predicted and measured"] = dg.MetadataValue.md(compared_markdown(report.outcomes))
    if report.completed:
        metadata["decisions of dead runs that were completed"] = report.completed
    return dg.MaterializeResult(
        asset_key=maintenance_key(name), metadata=metadata, tags={**write_tags(attempt), MAINTENANCE_TAG: name}
    )


def compared_markdown(outcomes: Sequence[ActionOutcome]) -> str:
    """What each action was expected to bring and to cost, beside what it did."""
    lines = ["| operation | | predicted | measured |", "|---|---|---:|---:|"]
    for outcome in outcomes:
        measured, operation = measured_of(outcome), outcome.action.operation
        for told, word in _WORDS:
            predicted = getattr(outcome.action.predicted, word)
            if predicted or measured.get(word):
                what = "snapshots fewer" if (operation, word) == (Operation.EXPIRE, "files_removed") else told
                lines.append(f"| {operation} | {what} | {predicted:,.0f} | {_shown(measured.get(word))} |")
    return "\n".join(lines)


def measured_of(outcome: ActionOutcome) -> dict[str, float]:
    """What came of an action, in the words of its prediction; nothing for what nobody measured."""
    before, after = outcome.before, outcome.after
    if after is None:
        return {}
    measured: dict[str, float] = {"bytes": float(after.bytes), "seconds": after.seconds}
    if any((before.files, after.files, before.snapshots, after.snapshots)):
        measured["files_removed"] = float(fewer(outcome.action.operation, before, after))
    for word in ("plan_ms", "commit_ms"):
        if getattr(before, word) and getattr(after, word):
            measured[word] = getattr(before, word) - getattr(after, word)
    return measured


def _outcomes(outcomes: Sequence[ActionOutcome]) -> dg.TableMetadataValue:
    columns = {"operation": "string", "result": "string", "in words": "string", "facts": "string"}
    rows = [
        (
            str(one.action.operation),
            one.result,
            one.message,
            ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in one.facts.items()),
        )
        for one in outcomes
    ]
    return rows_shown(columns, rows)


def _shown(number: float | None) -> str:
    return "" if number is None else f"{number:,.0f}"
