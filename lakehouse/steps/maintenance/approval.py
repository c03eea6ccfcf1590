"""Whether somebody has allowed what cannot be brought back: an approval is the digest of a plan that was shown.

A plan is shown by whoever writes it down in `lakehouse.maintenance`: the sensor, the command, a run that deletes
nothing. Its digest is of all that was measured, the moment included, so nobody can guess it. An approval lets a run do
what that plan names, once, as long as the table goes on from where it was: writers may have appended meanwhile, or the
table of a stream could never be approved of. What was set back, made anew or declared otherwise since, was not shown.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from lakehouse.declarations.own_tables.decision_row import DecisionRow
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.log.record import decided_rows, policy_text, record
from lakehouse.steps.maintenance.model.action import Action
from lakehouse.steps.maintenance.plan.decide import LONGEST_VALID
from lakehouse.steps.maintenance.survey import Surveyed


@dataclass(frozen=True)
class Approval:
    """What was allowed of an action.

    Args:
        action: what may be done: of its partitions, those that were shown.
        refusal: why nothing of it is allowed; empty if it is.
    """

    action: Action
    refusal: str = ""


def show(catalog: LakeCatalog, surveyed: Surveyed, *, writer: str) -> str:
    """Write a plan down; returns the digest by which it can be approved of.

    Raises:
        CommitError: it could not be written down.
    """
    record(catalog, decided_rows(surveyed.plan, surveyed.state, surveyed.declared.maintenance), writer=writer)
    return surveyed.plan.state_digest


def approval(digests: Collection[str], memory: History, surveyed: Surveyed, action: Action) -> Approval:
    """What of an action is allowed.

    Args:
        digests: of plans that somebody approves of.
        memory: what was shown, and what was done since.
        surveyed: the table as it is now.
        action: what is due now.
    """
    refusals: list[str] = []
    for digest in sorted(digests):
        row = memory.shown(surveyed.state.uuid, digest, action.operation)
        if row is None:
            refusals.append(f"no plan {digest} was shown that has {action.operation} for this table")
        elif stale := _stale(row, memory, surveyed, action):
            refusals.append(f"the approval of plan {digest} is stale: {stale}")
        else:
            return Approval(_shown(action, row))
    return Approval(action, "; ".join(refusals) or "nobody has approved of it")


def _stale(row: DecisionRow, memory: History, surveyed: Surveyed, action: Action) -> str:
    """Why a plan does not hold any more; empty if it does."""
    now: datetime = surveyed.state.measured_at
    if row.timestamp < now - LONGEST_VALID:
        return f"it was shown at {row.timestamp:%Y-%m-%d %H:%M:%S} UTC, more than {LONGEST_VALID} ago"
    if row.policy != policy_text(surveyed.declared.maintenance):
        return "the table is declared otherwise since"
    if row.snapshot_id is not None and row.snapshot_id not in {
        snapshot.snapshot_id for snapshot in surveyed.state.main
    }:
        return f"snapshot {row.snapshot_id}, on which it stood, is no longer in the history of main"
    if memory.done_since(surveyed.state.uuid, action.operation, row.timestamp):
        return f"{action.operation} was done since"
    if action.partitions and not _shown(action, row).partitions:
        return "what is due now are other partitions"
    return ""


def _shown(action: Action, row: DecisionRow) -> Action:
    keys = set(row.partition_keys)
    return replace(action, partitions=tuple(partition for partition in action.partitions if partition.key in keys))
