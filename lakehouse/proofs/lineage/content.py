"""Do two snapshots of one table hold the same rows? Answered from summaries alone."""

from enum import Enum

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.protocol.seals.history import ancestry, is_rewrite, is_seal_only, summary_of

_CHANGES = (
    "added-data-files",
    "deleted-data-files",
    "added-delete-files",
    "removed-delete-files",
    "added-records",
    "deleted-records",
)
_TOTALS = ("total-records", "total-data-files")


class ContentChange(Enum):
    """What is known of two snapshots."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


def compare(table: Table, first: int, second: int) -> ContentChange:
    """Compare two snapshots of a table.

    They are the same if one descends from the other through commits that change no rows: rewrites, and commits without
    files (seals, maintenance). Unknown if entries that would tell have expired.
    """
    if first == second:
        return ContentChange.SAME
    walks = _walk(table, first, second), _walk(table, second, first)
    for walk in walks:
        if walk.arrived:
            return ContentChange.DIFFERENT if walk.changed else ContentChange.SAME
    # Neither was seen below the other. A way that breaks off before any change may have led to it unchanged; one that
    # broke off after a change, or reached the table's beginning, cannot have.
    return ContentChange.DIFFERENT if all(walk.ended or walk.changed for walk in walks) else ContentChange.UNKNOWN


def changes_rows(snapshot: Snapshot) -> bool:
    """Whether a commit added or removed rows, by its summary."""
    if is_rewrite(snapshot):
        return False
    summary = summary_of(snapshot)
    if any(int(summary.get(key, "0")) for key in _CHANGES):
        return True
    # A summary need not count anything; one that does not even know the totals is no word on what was added.
    return not is_seal_only(snapshot) and not any(key in summary for key in _TOTALS)


class _Walk:
    """The way back from one snapshot, as far as its entries go."""

    def __init__(self) -> None:
        self.arrived = self.changed = self.ended = False


def _walk(table: Table, start: int, goal: int) -> _Walk:
    walk = _Walk()
    for snapshot in ancestry(table, start):
        if snapshot.snapshot_id == goal:
            walk.arrived = True
            return walk
        walk.changed |= changes_rows(snapshot)
        walk.ended = snapshot.parent_snapshot_id is None
    return walk
