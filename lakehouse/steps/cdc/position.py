"""A place in a source's total order of changes."""

from typing import Any, NamedTuple, Self


class ChangePosition(NamedTuple):
    """Compares as a tuple: epoch, commit position, position within that commit. A snapshot read has commit 0."""

    epoch: int
    commit: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.epoch}/{self.commit}/{self.sequence}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read `epoch/commit/sequence`; None for an empty text.

        Raises:
            ValueError: it is something else.
        """
        return cls(*map(int, text.split("/"))) if text else None

    @classmethod
    def of(cls, struct: Any) -> Self | None:
        """From a Spark row or a dict as Arrow gives it; None for null."""
        return None if struct is None else cls(struct["epoch"], struct["commit"], struct["sequence"])
