"""Writes down what was decided, before anything is done, and what came of it: rows of `lakehouse.maintenance`.

A row's id is a digest of what it tells, so it is there once however often it is told: by a run that was tried again, by
two sensors, or by the next run after one that died. No value of a sensitive column gets into a row: partitions are told
by their names, which hide them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from lakehouse.declarations import MAINTENANCE_LOG, OWN_TABLES, Maintenance, apply, plan
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Missing, append_absent
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.maintenance.model.action import (
    Action,
    ActionOutcome,
    MaintenancePlan,
    Operation,
    TableMeasure,
    Withheld,
)
from lakehouse.steps.maintenance.model.state import MeasuredState

KIND = "decisions"
_LONGEST_MESSAGE = 2000
_MOST_PARTITIONS = 100

Row = Mapping[str, Any]


@dataclass(frozen=True)
class DecisionFacts:
    """What the column `measured` holds.

    Attributes:
        before: the table before the action.
        after: and after it.
        facts: what else there is to know.
    """

    before: TableMeasure = field(default_factory=TableMeasure)
    after: TableMeasure | None = None
    facts: Mapping[str, int | float | str] = field(default_factory=dict[str, int | float | str])


def decided_rows(
    decided: MaintenancePlan, state: MeasuredState, policy: Maintenance, *, run_id: str = "", attempt: str = ""
) -> list[Row]:
    """One row for each action of a plan, in their order.

    None for a table of the lakehouse's own about which nothing is done: to write that down would change such a table
    again, for ever.
    """
    if decided.table in OWN_TABLES and decided.nothing:
        return []
    withheld = _json([_withheld(postponed) for postponed in decided.withheld])
    shared = {
        "phase": "decided",
        "at": state.measured_at,
        "table_name": state.table,
        "table_uuid": state.uuid,
        "snapshot_id": state.snapshot_id,
        "metadata_file": state.document,
        "run_id": run_id or None,
        "attempt": attempt or None,
        "withheld": withheld,
        "message": None,
        "health": None,
        "policy": policy_text(policy),
        "measured": None,
        "valid_until": decided.look_again_at if _stands(decided) else None,
    }
    return [
        {
            **shared,
            "row_id": _digest(state.uuid or state.table, state.digest, policy_text(policy), action.operation, attempt),
            "operation": action.operation.value,
            **partition_names(action),
            "reasons": _json(action.reasons),
            "blocked_by": _json(action.blocked_by),
            "result": _result(decided, action),
            "state": _brief(state, action),
            "predicted": None,
        }
        for action in decided.actions
    ]


def partition_names(action: Action) -> Mapping[str, str]:
    """The partitions of an action, as rows hold them: some names, and all keys."""
    return {
        "partitions": _json([partition.name for partition in action.partitions[:_MOST_PARTITIONS]]),
        "partition_keys": _json([partition.key for partition in action.partitions]),
    }


def finished_row(decided: Row, outcome: ActionOutcome, *, at: datetime) -> Row:
    """What came of an action whose decision is in a row."""
    facts = DecisionFacts(outcome.before, outcome.after, outcome.facts)
    return {
        **decided,
        "row_id": _digest(decided["row_id"], "finished"),
        "phase": "finished",
        "at": at,
        "snapshot_id": outcome.snapshot_id,
        "result": outcome.result,
        "message": outcome.message[:_LONGEST_MESSAGE],
        "measured": _json(facts),
        "valid_until": None,
    }


def record(catalog: LakeCatalog, rows: Sequence[Row], *, writer: str) -> int:
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


def _unrecorded(base: Base, rows: Sequence[Row]) -> Missing:
    known = _known(base, min(row["at"] for row in rows))
    new = {row["row_id"]: row for row in rows if row["row_id"] not in known}
    return Missing(list(new.values()), {"decisions.added": str(len(new))})


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
