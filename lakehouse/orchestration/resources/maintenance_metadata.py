"""A decision of maintenance as Dagster shows it: what was measured, what is done about it, why, and why not more.

The asset tells it of each run, and the sensor of each look that found nothing to do.
"""

from typing import Any

import dagster as dg

from lakehouse.declarations import Declarations, ToNamed
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.steps.maintenance.model.action import MaintenancePlan, Operation
from lakehouse.steps.maintenance.model.state import MeasuredState
from lakehouse.steps.maintenance.survey import Surveyed

PREFIX = "maintenance"
GROUP = "maintenance"
_MOST_ROWS = 20
_MOST_PARTITIONS = 3


def maintenance_key(table: str, names: DagsterNames = DEFAULT_NAMES) -> dg.AssetKey:
    """The key of the asset that looks after a table: `maintenance/raw/flights`."""
    return dg.AssetKey([*names.prefix, PREFIX, *identifier_of(table)])


def maintained_with(table: str, declarations: Declarations) -> str:
    """The declared table whose asset looks after a table: itself, or the one that it was made like."""
    routes = (stream.route for stream in declarations.streams.values())
    return next((r.like for r in routes if isinstance(r, ToNamed) and table in r.made), table)


def is_maintenance(key: dg.AssetKey, names: DagsterNames = DEFAULT_NAMES) -> bool:
    """Whether an asset is one that looks after a table."""
    return tuple(key.path[: len(names.prefix) + 1]) == (*names.prefix, PREFIX)


def decision_metadata(surveyed: Surveyed) -> dict[str, Any]:
    """What a person asks first: what was decided and why. Numbers are drawn over time by Dagster itself."""
    state, plan = surveyed.state, surveyed.plan
    metadata: dict[str, Any] = {
        "decision": dg.MetadataValue.md(decision_markdown(plan)),
        "not done, and why": _withheld(plan),
        **numbers(surveyed),
        "measured": f"{state.depth.name.lower()}{f': {state.deeper_because}' if state.deeper_because else ''}",
        "snapshot id": str(state.snapshot_id or "none"),
        "state digest": plan.state_digest,
    }
    if plan.look_again_at is not None:
        metadata["another decision at the earliest"] = dg.MetadataValue.timestamp(plan.look_again_at)
    if state.holders:
        metadata["old snapshots are held by"] = _holders(state)
    if plan.recommendations:
        lines = [
            f"- `{recommendation.setting}` = `{recommendation.value}`: {recommendation.because}"
            for recommendation in plan.recommendations
        ]
        metadata["recommended, and left to you"] = dg.MetadataValue.md("\n".join(lines))
    return metadata


def numbers(surveyed: Surveyed) -> dict[str, Any]:
    """What is worth a curve."""
    totals = surveyed.state.totals
    numbers: dict[str, Any] = {
        "data files": totals.files,
        "delete files": totals.delete_files,
        "bytes": totals.bytes,
        "snapshots": totals.snapshots,
        "metadata bytes": totals.document_bytes,
    }
    if totals.manifests is not None:
        numbers["manifests"] = totals.manifests
    if surveyed.state.cadence.commit_ms is not None:
        numbers["commit ms"] = round(surveyed.state.cadence.commit_ms, 1)
    return numbers


def decision_markdown(plan: MaintenancePlan) -> str:
    """The actions of a plan with their reasons, in order."""
    lines: list[str] = []
    for action in plan.actions:
        if action.operation is Operation.NOTHING:
            lines.append("**Nothing**, because:")
        else:
            where = [partition.name for partition in action.partitions]
            more = f" and {len(where) - _MOST_PARTITIONS} more" if len(where) > _MOST_PARTITIONS else ""
            scope = f" of {', '.join(f'`{name}`' for name in where[:_MOST_PARTITIONS])}{more}" if where else ""
            lines.append(f"**{action.operation}**{scope}, because:")
        lines += ["", *(f"- {reason}" for reason in action.reasons or ("nothing is due",)), ""]
        lines += [f"- held up by {holder}" for holder in action.blocked_by]
    return "\n".join(lines).strip()


def _withheld(plan: MaintenancePlan) -> dg.TableMetadataValue:
    columns = {"operation": "string", "why not": "string", "until": "string", "in words": "string"}
    rows = [
        (
            str(withheld.action.operation),
            withheld.why,
            f"{withheld.until:%Y-%m-%d %H:%M:%S} UTC" if withheld.until is not None else "",
            "; ".join((*withheld.action.reasons, *withheld.action.blocked_by)),
        )
        for withheld in plan.withheld[:_MOST_ROWS]
    ]
    return rows_shown(columns, rows)


def _holders(state: MeasuredState) -> dg.TableMetadataValue:
    columns = {"who": "string", "snapshot": "string", "until": "string", "why": "string", "to end it": "string"}
    rows = [
        (
            f"{holder.kind} {holder.owner}",
            str(holder.snapshot_id),
            f"{holder.until:%Y-%m-%d %H:%M} UTC" if holder.until is not None else "no end",
            holder.reason,
            holder.command,
        )
        for holder in state.holders[:_MOST_ROWS]
    ]
    return rows_shown(columns, rows)
