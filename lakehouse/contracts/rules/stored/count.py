"""How many rows a snapshot has, as far as its summary tells."""

from dataclasses import dataclass

from pyiceberg.table.snapshots import Snapshot

from lakehouse.declarations.policies.expectation import Rows
from lakehouse.protocol.seals.history import summary_of

_DATA, _POSITIONS, _EQUALITY = "total-records", "total-position-deletes", "total-equality-deletes"


@dataclass(frozen=True)
class RowCount:
    """At least and at most so many rows; `most` is None where nobody knows."""

    least: int
    most: int | None

    @classmethod
    def by_summary(cls, snapshot: Snapshot) -> "RowCount":
        """Count from the running totals. Deletes may name a row twice, or one that is gone, so they only lower it."""
        summary = summary_of(snapshot)
        if _DATA not in summary:
            return cls(0, None)
        most = int(summary[_DATA])
        if int(summary.get(_EQUALITY, "0")):
            return cls(0, most)
        return cls(max(0, most - int(summary.get(_POSITIONS, "0"))), most)

    @property
    def exact(self) -> int | None:
        """The number of rows, where it is known."""
        return self.least if self.least == self.most else None

    def outside(self, limits: Rows) -> int | None:
        """How many rows are missing or too many; None where that is not known."""
        if self.exact is not None:
            too_many = self.exact - limits.most if limits.most is not None else 0
            return max(0, limits.least - self.exact, too_many)
        enough = self.least >= limits.least
        few = limits.most is None or (self.most is not None and self.most <= limits.most)
        return 0 if enough and few else None
