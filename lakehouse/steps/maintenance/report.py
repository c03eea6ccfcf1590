"""What a run of maintenance tells: what it found and decided, and what came of it."""

from dataclasses import dataclass

from lakehouse.errors import LakehouseError
from lakehouse.steps.maintenance.model.action import ActionOutcome
from lakehouse.steps.maintenance.survey import Surveyed

_BAD = ("failed", "proof_failed")


class MaintenanceFailed(LakehouseError):
    """An operation did not end well; the table holds the same rows as before."""


@dataclass(frozen=True, kw_only=True)
class MaintainReport:
    """What was done to one table.

    Attributes:
        surveyed: the table and the plan that were decided on; None where the table does not exist.
        outcomes: what came of each action of the plan, in order.
        after: the table afterwards, with what would be done next; None where nothing was changed.
        completed: how many decisions of dead runs were brought to an end.
        seconds: all together.
        error: what stopped it, if anything did.
    """

    surveyed: Surveyed | None
    outcomes: tuple[ActionOutcome, ...] = ()
    after: Surveyed | None = None
    completed: int = 0
    seconds: float = 0.0
    error: Exception | None = None

    @property
    def bad(self) -> tuple[ActionOutcome, ...]:
        """What did not end well. To be overtaken by a writer is no failure: it is tried again."""
        return tuple(outcome for outcome in self.outcomes if outcome.result in _BAD)

    def require_well(self) -> None:
        """Raise what went wrong, after all of it was written down.

        Raises:
            MaintenanceFailed: names the operations.
        """
        if not self.bad or self.surveyed is None:
            return
        failures = "; ".join(f"{outcome.action.operation}: {outcome.message}" for outcome in self.bad)
        raise MaintenanceFailed(
            f"{self.surveyed.declared.name}: {failures}",
            remedy="the rows of lakehouse.maintenance say what was decided and why; it is tried again later by itself",
        ) from self.error
