"""Results of checks that a release waits for, and reasons why it is held."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lakehouse.errors import LakehouseError
from lakehouse.quantities import quantity

Outcome = Literal["passed", "failed", "errored", "running"]


@dataclass(frozen=True)
class Result:
    """What one run of a check came to.

    Args:
        outcome: a check that only warns has passed; one that raised, or whose run died, has errored.
        snapshot_id: which snapshot it judged; None where it did not come so far, or does not say.
        run_id: the run in which it was judged.
        description: what the check says, for the message.
        elsewhere: other table → the snapshot of it that was judged as well, where the check is about a reference.
    """

    outcome: Outcome
    snapshot_id: int | None = None
    run_id: str = ""
    description: str = ""
    elsewhere: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Check:
    """A check that a release waits for, with its results, newest first."""

    table: str
    name: str
    results: tuple[Result, ...] = ()


@dataclass(frozen=True)
class Reason:
    """Why a release is held: one line, and what to do about it."""

    table: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        """As a line of the message."""
        return f"{self.table}: {self.problem}. To repair: {self.remedy}"


class ReleaseHeld(LakehouseError):
    """The members are not fit to be released together; the pointer stays where it is.

    Attributes:
        reasons: all of them.
    """

    def __init__(self, group: str, reasons: Sequence[Reason]) -> None:
        self.reasons = tuple(reasons)
        lines = "\n".join(f"- {reason}" for reason in reasons)
        super().__init__(
            f"Release {group} is held, for {quantity(len(reasons), 'reason')}; readers keep the "
            f"release that they have.\n{lines}"
        )


def judged_by(checks: Iterable[Check]) -> dict[str, set[int]]:
    """Member → the snapshots that results of its checks name."""
    named: dict[str, set[int]] = {}
    for check in checks:
        snapshots = {result.snapshot_id for result in check.results if result.snapshot_id is not None}
        named.setdefault(check.table, set()).update(snapshots)
    return named
