"""The snapshots of a history that have anything to do with what came from outside; as a rule there is none.

Every publish asks what is open in the history of its base, in several regards. So what is ordinary is passed over once
and quickly: seals without files that carry nothing on, and below each the commits of its attempt.
"""

from collections.abc import Collection, Iterator

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.protocol.seals.history import FILE_COUNTS, ancestry, summary_of
from lakehouse.protocol.seals.settling import settles

_STATED = (
    seal_keys.FOREIGN_COMMITS,
    seal_keys.FOREIGN_REWRITES,
    seal_keys.FOREIGN_PROVEN,
    seal_keys.REWRITE_CLAIMED,
)
_REMARKABLE = frozenset([*FILE_COUNTS, *(seal_keys.PREFIX + key for key in _STATED)])


def remarkable_snapshots(table: Table, snapshot_id: int | None, *, until: Collection[int] = ()) -> Iterator[Snapshot]:
    """What of the way from a snapshot to the root is not ordinary, newest first.

    That is every commit that is no seal and bears no mark of the attempt whose seal lies right above. And of the seals
    those that have files, say something of what came from outside, or settle it; the one below such a seal as well,
    which ends what that seal claims.

    It ends at the first snapshot of `until`, and where history does.
    """
    sealed_by: str | None = None
    above_was_ordinary = True
    for snapshot in ancestry(table, snapshot_id):
        if until and snapshot.snapshot_id in until:
            return
        summary = summary_of(snapshot)
        attempt = summary.get(seal_keys.ATTEMPT)
        if seal_keys.VERSION in summary:
            sealed_by = attempt
            ordinary = summary.keys().isdisjoint(_REMARKABLE) and not settles(summary)
            if not (ordinary and above_was_ordinary):
                yield snapshot
            above_was_ordinary = ordinary
        elif attempt is None or attempt != sealed_by:
            yield snapshot
