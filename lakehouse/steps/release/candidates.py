"""Which snapshot of each member is up for release: what `main` holds, and what has been judged of it.

Commits that leave the content as it is, rewrites and the seals of maintenance, do not matter: what was judged before
them is released as it was judged. A dated table is up for release as it is now. A dateless one (a stream goes on while
others are computed and judged) as the other members have read it, be it by way of tables that are no members; if none
has, as it was judged last.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.lineage.sealed import made
from lakehouse.proofs.lineage.snapshot_path import SnapshotPath
from lakehouse.protocol.commit.conflict_check import MAINTENANCE
from lakehouse.protocol.seals.history import Sealed, ancestry, head_of, is_rewrite, is_seal_only, summary_of
from lakehouse.protocol.seals.row_count import rows_by_summary
from lakehouse.steps.release.statement import ReleaseMember


@dataclass(frozen=True)
class Candidate:
    """A member as it might be released.

    Args:
        table: as it was loaded.
        dated: whether it carries a runtime date and parameters.
        same: snapshots of one content, newest first; empty where `main` has none.
        sealed: what the step said that made this content, or one before it; None where nobody said anything.
    """

    table: Table
    dated: bool
    same: tuple[int, ...]
    sealed: Sealed | None

    @property
    def name(self) -> str:
        """`namespace.table`."""
        return table_name(self.table)

    def choose(self, judged: Collection[int]) -> int:
        """The snapshot to release: the newest of this content that a result names, or just the newest."""
        return next((snapshot for snapshot in self.same if snapshot in judged), self.same[0])

    def member(self, snapshot_id: int) -> ReleaseMember:
        """What is recorded of it, released at one of its snapshots."""
        return ReleaseMember(
            table=self.name,
            uuid=str(self.table.metadata.table_uuid),
            snapshot_id=snapshot_id,
            runtime_date=self.sealed.seal.runtime_date if self.sealed and self.dated else "",
            rows=rows_by_summary(snapshot) if (snapshot := self.table.metadata.snapshot_by_id(snapshot_id)) else None,
            run_id=self.sealed.seal.run_id if self.sealed else "",
        )


def candidates(
    tables: Mapping[str, Table],
    dated: Iterable[str],
    judged: Mapping[str, Collection[int]],
    above: Iterable[SnapshotPath] = (),
) -> dict[str, Candidate]:
    """The candidate of each member.

    Args:
        tables: the members, loaded at one moment.
        dated: names of those that carry a runtime date.
        judged: member → the snapshots that results of its checks name.
        above: what the dated members were computed from, directly or through tables that are no members.
    """
    dated, read_snapshots = set(dated), dict[str, set[int]]()
    for reading in above:
        read_snapshots.setdefault(reading.table, set()).add(reading.snapshot_id)
    by_name = {name: candidate_at(table, head_of(table), dated=name in dated) for name, table in tables.items()}
    seals = [candidate.sealed.seal for candidate in by_name.values() if candidate.sealed]
    for name, table in tables.items():
        read = read_snapshots.get(name) or {seal.inputs[name] for seal in seals if name in seal.inputs}
        if name not in dated and (snapshot_id := _newest(table, read or judged.get(name, ()))) is not None:
            by_name[name] = candidate_at(table, snapshot_id, dated=False)
    return by_name


def same_content(table: Table, snapshot_id: int | None) -> tuple[int, ...]:
    """The snapshots of `main` with the content of this one, newest first; empty if `main` does not hold it."""
    run: list[Snapshot] = []
    for snapshot in ancestry(table, head_of(table)):
        run.append(snapshot)
        if not _keeps_content(snapshot):
            if any(entry.snapshot_id == snapshot_id for entry in run):
                break
            run = []
    ids = tuple(entry.snapshot_id for entry in run)
    return ids if snapshot_id in ids else ()


def candidate_at(table: Table, snapshot_id: int | None, *, dated: bool) -> Candidate:
    """The candidate with the content of a snapshot; it has none where `main` does not hold that snapshot."""
    same = same_content(table, snapshot_id)
    return Candidate(table, dated, same, made(table, same[0]).sealed if same else None)


def changes(before: Sequence[ReleaseMember], by_name: Mapping[str, Candidate]) -> dict[str, str]:
    """Member → in which way it is not what it was; empty if all hold the content that was released before."""
    released = {member.table: member for member in before}
    changed = {name: "no longer a member" for name in released if name not in by_name}
    for name, candidate in by_name.items():
        if name not in released:
            changed[name] = "new member"
        elif released[name].uuid != str(candidate.table.metadata.table_uuid):
            changed[name] = "created anew"
        elif released[name].snapshot_id not in candidate.same:
            changed[name] = f"new content, {released[name].snapshot_id} before"
    return changed


def _newest(table: Table, among: Collection[int]) -> int | None:
    """The newest of some snapshots that `main` holds."""
    history = (snapshot.snapshot_id for snapshot in ancestry(table, head_of(table)))
    return next((snapshot_id for snapshot_id in history if snapshot_id in among), None)


def _keeps_content(snapshot: Snapshot) -> bool:
    if is_rewrite(snapshot):
        return True
    return is_seal_only(snapshot) and summary_of(snapshot).get(seal_keys.KIND) == MAINTENANCE
