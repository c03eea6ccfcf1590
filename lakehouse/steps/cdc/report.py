"""What one step of a mirror did."""

from dataclasses import dataclass

from lakehouse.protocol.commit import Published
from lakehouse.steps.cdc.merge.merge_plan import MergePlan
from lakehouse.steps.cdc.statement import MirrorStatement


@dataclass(frozen=True)
class MirrorReport:
    """The outcome of one step.

    Args:
        mirror: its name.
        kind: `idle`, `mirror` or `rebuild`.
        statement: what its seals say now; None while it has none.
        published: None where there was nothing to do.
        plan: how the rows were written, why, what was expected and what came of it; None where nothing was read.
        notes: what a reader should know beyond: columns that were taken over, why it was rebuilt.
        behind: changes that the changelog holds beyond, left to the next run.
        seconds: how long it took.
    """

    mirror: str
    kind: str
    statement: MirrorStatement | None
    published: Published | None
    plan: MergePlan | None = None
    notes: tuple[str, ...] = ()
    behind: int = 0
    seconds: float = 0.0

    @property
    def refused(self) -> int:
        """Changes that this step put into quarantine."""
        if self.published is None or self.statement is None:
            return 0
        return self.statement.applied.contradictions + self.statement.applied.too_late
