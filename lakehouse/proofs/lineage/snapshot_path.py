"""A snapshot that something was computed from, and the way by which it was read."""

from dataclasses import dataclass
from itertools import zip_longest

from lakehouse.protocol.seals.seal import Seal


@dataclass(frozen=True)
class SnapshotPath:
    """A snapshot of a table, and one way by which it is read: the shortest.

    Args:
        path: from the table that was asked about to the one that is read.
        written_ms: when the snapshot was written; 0 where its entry has expired.
        seal: what its writer said; None where nobody did, or it has expired.
        parts: for each table of the path but the last, which part of it the way leads through; empty for all of it.
        rebuild: whether an incremental table on the way has read the next one in full, so that only a computation of
            all its rows would read another version of it.
    """

    path: tuple[str, ...]
    snapshot_id: int
    written_ms: int = 0
    seal: Seal | None = None
    parts: tuple[str, ...] = ()
    rebuild: bool = False

    @property
    def table(self) -> str:
        """What is read."""
        return self.path[-1]

    @property
    def path_text(self) -> str:
        """The path for a person: `a ← b (partitions …) ← c`."""
        steps = [
            f"{name} ({part})" if part else name for name, part in zip_longest(self.path, self.parts, fillvalue="")
        ]
        return " ← ".join(steps)

    def __str__(self) -> str:
        """The path, the snapshot, and whose it is."""
        if self.seal is None:
            return f"{self.path_text} at snapshot {self.snapshot_id}"
        dated = f"runtime date {self.seal.runtime_date}, " if self.seal.runtime_date else ""
        return f"{self.path_text} at snapshot {self.snapshot_id} ({dated}run {self.seal.run_id})"
