"""What an expiry did, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.steps.maintenance.expire.consumers import CutOff
from lakehouse.steps.maintenance.expire.snapshot_selection import SnapshotSelection


@dataclass(frozen=True)
class Expired:
    """What went.

    Args:
        selection: what was let go, and what could not be.
        files: data and delete files that were deleted.
        metadata_files: manifests, lists of manifests and statistics that were deleted.
        cut_off: who could read on before and cannot any more.
        forsaken: names of those for whom that was decided, by whoever ended their lease.
        elsewhere: files that nobody needs any more by this table's metadata, and that stay: they lie elsewhere,
            or where another table lies.
        location: of the table.
        outside: whether that is outside of the catalog's warehouse.
        before: snapshot entries of the table.
        after: the same.
    """

    selection: SnapshotSelection
    files: int = 0
    metadata_files: int = 0
    cut_off: tuple[CutOff, ...] = ()
    forsaken: frozenset[str] = frozenset()
    elsewhere: int = 0
    location: str = ""
    outside: bool = False
    before: int = 0
    after: int = 0

    @property
    def broken(self) -> tuple[CutOff, ...]:
        """Who was cut off although nobody gave them up; there should never be anybody."""
        return tuple(consumer for consumer in self.cut_off if consumer.name not in self.forsaken)

    def __str__(self) -> str:
        count = len(self.selection.snapshot_ids)
        removal = f"{count} snapshots went, with {self.files} files and {self.metadata_files} of metadata"
        lost = (
            f"{consumer.kind} {consumer.name} cannot read on: {consumer.message} {consumer.remedy}"
            for consumer in self.cut_off
        )
        return "; ".join((removal, *self._kept(), *blocked_words(self.selection), *lost))

    def _kept(self) -> Sequence[str]:
        if not self.elsewhere:
            return ()
        lie = "1 file lies" if self.elsewhere == 1 else f"{self.elsewhere} files lie"
        stay = "stays" if self.elsewhere == 1 else "stay"
        if self.outside:
            return (f"{lie} outside of the catalog's warehouse, and {stay}: another lakehouse may need them",)
        return (f"{lie} outside of {self.location}, or where another table lies, and {stay}: that table may need them",)


def blocked_words(selection: SnapshotSelection) -> Sequence[str]:
    """Who holds how many snapshots that might go else, until when, and what ends it."""
    return [
        f"{holder.kind} {holder.owner} holds {count}"
        + (f" until {holder.until:%Y-%m-%d %H:%M} UTC" if holder.until else "")
        + f" ({holder.command})"
        for holder, count in selection.blocked.items()
    ]
