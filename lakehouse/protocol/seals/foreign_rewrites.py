"""Which rewrites of a table came from outside the protocol, and are neither proven nor settled yet?

They say of themselves that they only rearrange files. Whether they have kept every row is for a proof to say, which
reads the files before and after. Until then each seal carries their ids on.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.protocol.seals.history import is_rewrite, summary_of
from lakehouse.protocol.seals.remarkable import remarkable_snapshots
from lakehouse.protocol.seals.settling import settles


def foreign_rewrites(table: Table, snapshot_id: int | None, *, until: Collection[int] = ()) -> Iterator[Snapshot]:
    """Rewrites that led to a snapshot and that are not ours, newest first, as far as the rows may still be theirs.

    It ends at the first snapshot of `until`, and where history does.

    Ours bear the mark of the attempt whose seal lies right above. What Spark writes into tables of version 3 cannot
    bear it, and is claimed by that seal. Others were proven by maintenance before it let go of what proves them.
    """
    return _listed(remarkable_snapshots(table, snapshot_id, until=until))


def _listed(remarkable: Iterable[Snapshot]) -> Iterator[Snapshot]:
    claimed: frozenset[int] = frozenset()
    proven: frozenset[int] = frozenset()
    for snapshot in remarkable:
        summary = summary_of(snapshot)
        if seal_keys.VERSION in summary:
            if settles(summary):
                return
            claimed = _ids(summary, seal_keys.REWRITE_CLAIMED)
            proven |= _ids(summary, seal_keys.FOREIGN_PROVEN)
        elif is_rewrite(snapshot) and snapshot.snapshot_id not in claimed | proven:
            yield snapshot


def recorded_rewrites(table: Table, snapshot_id: int | None, *, until: Collection[int] = ()) -> set[int]:
    """Ids of foreign rewrites that seals carry on, so that they are known where history does not reach any more.

    Those that a snapshot of `until` has below it are left out.
    """
    known = {rewrite for released in until for rewrite in unproven_rewrites(table, released)}
    return recorded_of(remarkable_snapshots(table, snapshot_id, until=until)) - known


def recorded_of(remarkable: Iterable[Snapshot]) -> set[int]:
    """The same of a history whose `remarkable_snapshots` are these."""
    recorded: frozenset[int] = frozenset()
    proven: frozenset[int] = frozenset()
    for snapshot in remarkable:
        summary = summary_of(snapshot)
        if settles(summary):
            break
        if seal_keys.VERSION in summary:
            proven |= _ids(summary, seal_keys.FOREIGN_PROVEN)
            recorded |= _ids(summary, seal_keys.FOREIGN_REWRITES)
    return set(recorded - proven)


def unproven_rewrites(table: Table, snapshot_id: int | None) -> list[int]:
    """Ids of all foreign rewrites below a snapshot that nothing has proven or settled, oldest last."""
    return unproven_of(list(remarkable_snapshots(table, snapshot_id)))


def unproven_of(remarkable: Sequence[Snapshot]) -> list[int]:
    """The same of a history whose `remarkable_snapshots` are these."""
    listed = [snapshot.snapshot_id for snapshot in _listed(remarkable)]
    return [*listed, *sorted(recorded_of(remarkable) - {*listed})]


def _ids(summary: Mapping[str, str], key: str) -> frozenset[int]:
    """The snapshots that a seal names. That it is as it was written is for other proofs to say."""
    if (text := summary.get(seal_keys.PREFIX + key)) is None:
        return frozenset()
    try:
        return frozenset(msgspec.json.decode(text, type=list[int]))
    except msgspec.MsgspecError:
        return frozenset()
