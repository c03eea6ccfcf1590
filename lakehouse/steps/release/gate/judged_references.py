"""At which snapshots of other tables a result counts: one about a reference has judged two tables.

Where the other table is a member, what was found there has to be in what is released of it: the very content, or one
that became it by appends alone. Where it is no member, readers get it as it is; then it has to have been judged as new
as it was when the members were computed from it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from lakehouse.proofs.lineage.snapshot_path import SnapshotPath
from lakehouse.protocol.seals.history import ancestry, head_of, is_rewrite, is_seal_only
from lakehouse.steps.release.candidates import Candidate, same_content
from lakehouse.steps.release.gate.results import Check


def accepted(
    checks: Iterable[Check],
    candidates: Mapping[str, Candidate],
    above: Iterable[SnapshotPath],
    load: Callable[[str], Table],
) -> dict[str, set[int]]:
    """Other table → the snapshots of it that a result may name; without those that nothing is demanded of.

    Args:
        checks: with their results.
        candidates: the members.
        above: what the members were computed from, directly or through others.
        load: gives a table that is no member.
    """
    named = {name for check in checks for result in check.results for name in result.elsewhere}
    read: dict[str, set[int]] = {}
    for reading in above:
        read.setdefault(reading.table, set()).add(reading.snapshot_id)
    return {
        name: _contained(candidates[name]) if name in candidates else _since(load, name, read[name])
        for name in sorted(named)
        if name in candidates or name in read
    }


def _contained(member: Candidate) -> set[int]:
    """The snapshots all of whose rows are in what is released of a member."""
    snapshot_ids = set(member.same)
    for snapshot in ancestry(member.table, member.same[-1] if member.same else None):
        snapshot_ids.add(snapshot.snapshot_id)
        if not _only_adds(snapshot):
            break
    return snapshot_ids


def _since(load: Callable[[str], Table], name: str, read: Collection[int]) -> set[int]:
    """The snapshots of `main` from the newest on that was read."""
    try:
        table = load(name)
    except NoSuchTableError:
        return set()
    snapshot_ids: set[int] = set()
    for snapshot in ancestry(table, head_of(table)):
        snapshot_ids.add(snapshot.snapshot_id)
        if snapshot.snapshot_id in read:
            return snapshot_ids.union(same_content(table, snapshot.snapshot_id))
    return set(read)  # none of them is in `main` any more


def _only_adds(snapshot: Snapshot) -> bool:
    appends = snapshot.summary is not None and snapshot.summary.operation == Operation.APPEND
    return appends or is_rewrite(snapshot) or is_seal_only(snapshot)
