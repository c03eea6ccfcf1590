"""Whether it is time to look at the tables again, and which plans become runs; pure, so every case can be tested."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from lakehouse.steps.maintenance.log.backoff import pause
from lakehouse.steps.maintenance.model.action import MaintenancePlan, Operation


@dataclass(frozen=True)
class MaintenanceCursor:
    """What the last look left, as the sensor's cursor.

    Args:
        tables: digest of where all metadata were.
        again_at: when time alone could make something due, as an ISO moment; empty for at once.
    """

    tables: str = ""
    again_at: str = ""

    @classmethod
    def of(cls, cursor: str | None) -> "MaintenanceCursor":
        """Read a cursor."""
        return cls(**json.loads(cursor)) if cursor else cls()

    def cursor(self) -> str:
        """What `of` reads."""
        return json.dumps(asdict(self))


def reason_to_rest(last: MaintenanceCursor, tables: str, now: datetime, *, busy: Collection[str], most: int) -> str:
    """Why nobody has to look now; empty if somebody has to.

    Args:
        last: what the last look left.
        tables: digest of where all metadata are.
        now: the present moment.
        busy: tables whose maintenance is queued or under way.
        most: at most so many of them at once.
    """
    if len(busy) >= most:
        return f"maintenance of {', '.join(sorted(busy))} is under way"
    if last.tables == tables and last.again_at and now < datetime.fromisoformat(last.again_at):
        return f"no table has changed, and nothing is due before {last.again_at[:19]} UTC"
    return ""


def reason_to_wait(died: Sequence[datetime], now: datetime) -> str:
    """Why a table's run is not started, after runs that died without saying what came of them; empty if it is.

    Args:
        died: when these ended, newest first.
        now: the present moment.
    """
    if not died or now >= (again := died[0] + pause(len(died), "failed")):
        return ""
    outcome = "the last run died" if len(died) == 1 else f"the last {len(died)} runs died"
    return f"{outcome}, the next try is at {again:%H:%M:%S} UTC"


def operations_of(plan: MaintenancePlan) -> str:
    """What a run is asked to do, as its tag says it."""
    return ",".join(
        dict.fromkeys(action.operation for action in plan.actions if action.operation is not Operation.NOTHING)
    )


def run_key(plan: MaintenancePlan) -> str:
    """Name the run by what it is about, so that Dagster starts it once."""
    return f"{plan.table}:{plan.state_digest}:{operations_of(plan)}"
