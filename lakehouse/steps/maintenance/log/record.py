"""Writes down what was decided, before anything is done, and what came of it: rows of `lakehouse.maintenance`.

A row's id is a digest of what it tells, so it is there once however often it is told: by a run that was tried again, by
two sensors, or by the next run after one that died. No value of a sensitive column gets into a row: partitions are told
by their names, which hide them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypedDict

import msgspec

from lakehouse import seal_keys
from lakehouse.declarations import MAINTENANCE_LOG, OWN_TABLES, Maintenance, apply, plan
from lakehouse.declarations.own_tables.action_effect import ActionMeasures
from lakehouse.declarations.own_tables.decision_row import DecisionRow
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Missing, append_absent
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.maintenance.model.action import (
    Action,
    ActionOutcome,
    MaintenancePlan,
    Operation,
    Withheld,
)
from lakehouse.steps.maintenance.model.state import MeasuredState

KIND = "decisions"
_LONGEST_MESSAGE = 2000
_MOST_PARTITIONS = 100


def decided_rows(
    decided: MaintenancePlan, state: MeasuredState, policy: Maintenance, *, run_id: str = "", attempt: str = ""
) -> list[DecisionRow]:
    """One row for each action of a plan, in their order.

    None for a table of the lakehouse's own about which nothing is done: to write that down would change such a table
    again, for ever.
    """
    if decided.table in OWN_TABLES and decided.nothing:
        return []
    withheld = _json([_withheld(postponed) for postponed in decided.withheld])
    return [
        DecisionRow(
            row_id=_digest(state.uuid or state.table, state.digest, policy_text(policy), action.operation, attempt),
            phase="decided",
            timestamp=state.measured_at,
            table_name=state.table,
            table_uuid=state.uuid,
            snapshot_id=state.snapshot_id,
            metadata_file=state.document,
            run_id=run_id or None,
            attempt=attempt or None,
            operation=action.operation.value,
            **partition_names(action),
            reasons=action.reasons,
            blocked_by=action.blocked_by,
            withheld=withheld,
            result=_result(decided, action),
            state=_brief(state, action),
            policy=policy_text(policy),
            valid_until=decided.look_again_at if _stands(decided) else None,
        )
        for action in decided.actions
    ]


class PartitionNames(TypedDict):
    """The partitions of an action, as rows hold them."""

    partitions: tuple[str, ...]
    partition_keys: tuple[str, ...]


def partition_names(action: Action) -> PartitionNames:
    """Some names, and all keys."""
    return {
        "partitions": tuple(partition.name for partition in action.partitions[:_MOST_PARTITIONS]),
        "partition_keys": tuple(partition.key for partition in action.partitions),
    }


def finished_row(decided: DecisionRow, outcome: ActionOutcome, timestamp: datetime) -> DecisionRow:
    """What came of an action whose decision is in a row."""
    return replace(
        decided,
        row_id=_digest(decided.row_id, "finished"),
        phase="finished",
        timestamp=timestamp,
        snapshot_id=outcome.snapshot_id,
        result=outcome.result,
        message=outcome.message[:_LONGEST_MESSAGE],
        measured=ActionMeasures(outcome.before, outcome.after, outcome.effect).to_json(),
        valid_until=None,
    )


def record(catalog: LakeCatalog, rows: Sequence[DecisionRow], *, writer: str) -> int:
    """Append rows that are not there yet; returns how many were not.

    Args:
        catalog: where the table lives; it is created if it does not exist.
        rows: what to tell.
        writer: the run, or what else tells it.

    Raises:
        TableBusy: others were faster in every try.
        ClockSkew: the table's history is ahead of our clock.
        PublishUnresolved: the catalog never gave a clear answer; told again, what is missing is appended.
    """
    if not rows:
        return 0
    apply(plan(MAINTENANCE_LOG, catalog), catalog)
    attempt = Attempt(run_id=writer, step=KIND)
    return len(append_absent(catalog, MAINTENANCE_LOG.name, attempt, KIND, lambda base: _unrecorded(base, rows)).rows)


def policy_text(policy: Maintenance) -> str:
    """A policy as rows hold it."""
    return _json(policy)


def _unrecorded(base: Base, rows: Sequence[DecisionRow]) -> Missing:
    known = _known(base, min(row.timestamp for row in rows))
    new = {row.row_id: row.to_columns() for row in rows if row.row_id not in known}
    return Missing(list(new.values()), {seal_keys.DECISIONS_ADDED: str(len(new))})


def _known(base: Base, earliest: datetime) -> set[str]:
    """Ids of rows from then on. Most rows are newer than all others: then manifests alone say that none is there."""
    if base.snapshot_id is None:
        return set()
    scan = base.table.scan(
        row_filter=f"at >= '{earliest.isoformat()}'", selected_fields=("row_id",), snapshot_id=base.snapshot_id
    )
    return set(scan.to_arrow()["row_id"].to_pylist())


def _result(decided: MaintenancePlan, action: Action) -> str:
    if action.operation is not Operation.NOTHING:
        return "chosen"
    causes = {withheld.why for withheld in decided.withheld}
    for result in ("excluded", "blocked"):
        if result in causes:
            return result
    return "withheld" if causes else "nothing"


def _stands(decided: MaintenancePlan) -> bool:
    """Whether a decision holds while its table does not change: what waits for others may have its turn any time."""
    return decided.nothing and all(withheld.why not in ("budget", "after") for withheld in decided.withheld)


def _withheld(withheld: Withheld) -> Mapping[str, object]:
    action = withheld.action
    return {
        "operation": action.operation,
        "why": withheld.why,
        "until": withheld.until,
        "partitions": [partition.name for partition in action.partitions[:_MOST_PARTITIONS]],
        "reasons": action.reasons,
        "blocked_by": action.blocked_by,
    }


def _brief(state: MeasuredState, action: Action) -> str:
    """What was measured, without history and holders: of partitions, those of the action."""
    shown_keys = {partition.key for partition in action.partitions[:_MOST_PARTITIONS]}
    summary = {
        "digest": state.digest,
        "bytes": action.bytes,
        "depth": state.depth.name.lower(),
        "deeper_because": state.deeper_because,
        "totals": state.totals,
        "cadence": state.cadence,
        "format_version": state.traits.format_version,
        "writer": state.traits.writer,
        "partitions": len(state.partitions) if state.partitions is not None else None,
        "chosen": [
            partition_state for partition_state in state.partitions or () if partition_state.partition.key in shown_keys
        ],
        "branches_and_tags": len(state.refs),
        "holders": len(state.holders),
    }
    return _json(summary)


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
