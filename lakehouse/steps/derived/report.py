"""What one step of a derived table did."""

from collections.abc import Mapping
from dataclasses import dataclass

from lakehouse.protocol.commit import Published
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.statement import DeriveStatement


@dataclass(frozen=True)
class DeriveReport:
    """The outcome of one step.

    Args:
        table: its name.
        statement: what its seal says now.
        inputs: argument → what was read.
        published: what became visible.
        branch: the attempt's.
        notes: what a reader should know beyond: that nothing has changed since the last run, or what differs.
        seconds: how long it took.
    """

    table: str
    statement: DeriveStatement
    inputs: Mapping[str, Input]
    published: Published
    branch: str
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def snapshot_id(self) -> int:
        """The table's new snapshot."""
        return self.published.snapshots[self.table]
