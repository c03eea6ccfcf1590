"""Which snapshot of each member is up for release: what `main` holds, and what has been judged of it.

Commits that leave the content as it is, rewrites and the seals of maintenance, do not matter: what was judged before
them is released as it was judged. A table that other members were computed from (a stream that goes on while they are
computed, say) is released as they read it, not as it is by now.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.commit import Sealed
from lakehouse.commit.history import ancestry, head_of, is_rewrite, is_seal_only, summary_of
from lakehouse.commit.judge import MAINTENANCE
from lakehouse.commit.seal import PREFIX
from lakehouse.lineage.sealed import made
from lakehouse.release.statement import Member

_DELETES = ("total-position-deletes", "total-equality-deletes")


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
        return ".".join(self.table.name())

    def judged(self, named: Iterable[int | None]) -> int:
        """The snapshot to release: the newest of this content that a check names, or just the newest."""
        judged = set(named)
        return next((snapshot for snapshot in self.same if snapshot in judged), self.same[0])

    def member(self, snapshot_id: int) -> Member:
        """What is recorded of it, released at one of its snapshots."""
        return Member(
            table=self.name,
            uuid=str(self.table.metadata.table_uuid),
            snapshot_id=snapshot_id,
            runtime_date=self.sealed.seal.runtime_date if self.sealed and self.dated else "",
            rows=_rows(self.table, snapshot_id),
            run_id=self.sealed.seal.run_id if self.sealed else "",
        )


def candidates(tables: Mapping[str, Table], dated: Iterable[str]) -> dict[str, Candidate]:
    """The candidate of each member.

    Args:
        tables: the members, loaded at one moment.
        dated: names of those that carry a runtime date.
    """
    dated = set(dated)
    newest = {name: candidate_at(table, head_of(table), dated=name in dated) for name, table in tables.items()}
    read = {
        name: {c.sealed.seal.inputs[name] for c in newest.values() if c.sealed and name in c.sealed.seal.inputs}
        for name in tables
    }
    return {
        name: found if name in dated else _as_read(found, tables[name], read[name]) for name, found in newest.items()
    }


def same_content(table: Table, snapshot_id: int | None) -> tuple[int, ...]:
    """The snapshots of `main` with the content of this one, newest first; empty if `main` does not hold it."""
    run: list[Snapshot] = []
    for snapshot in ancestry(table, head_of(table)):
        run.append(snapshot)
        if not _keeps_content(snapshot):
            if any(one.snapshot_id == snapshot_id for one in run):
                break
            run = []
    ids = tuple(one.snapshot_id for one in run)
    return ids if snapshot_id in ids else ()


def candidate_at(table: Table, snapshot_id: int | None, *, dated: bool) -> Candidate:
    """The candidate with the content of a snapshot; it has none where `main` does not hold that snapshot."""
    same = same_content(table, snapshot_id)
    return Candidate(table, dated, same, made(table, same[0]).sealed if same else None)


def changes(before: Sequence[Member], found: Mapping[str, Candidate]) -> dict[str, str]:
    """Member → in which way it is not what it was; empty if all hold the content that was released before."""
    was = {member.table: member for member in before}
    changed = {name: "no longer a member" for name in was if name not in found}
    for name, one in found.items():
        if name not in was:
            changed[name] = "new member"
        elif was[name].uuid != str(one.table.metadata.table_uuid):
            changed[name] = "created anew"
        elif was[name].snapshot_id not in one.same:
            changed[name] = f"new content, {was[name].snapshot_id} before"
    return changed


def _rows(table: Table, snapshot_id: int) -> int | None:
    """Rows of a snapshot, where its summary can tell: delete files take away rows that it counts."""
    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    summary = summary_of(snapshot) if snapshot else {}
    if "total-records" not in summary or any(int(summary.get(key, "0")) for key in _DELETES):
        return None
    return int(summary["total-records"])


def _as_read(newest: Candidate, table: Table, read: set[int]) -> Candidate:
    """The newest content that another member has read, if `main` still holds it."""
    for snapshot in ancestry(table, head_of(table)):
        if snapshot.snapshot_id in read:
            return candidate_at(table, snapshot.snapshot_id, dated=False)
    return newest


def _keeps_content(snapshot: Snapshot) -> bool:
    if is_rewrite(snapshot):
        return True
    return is_seal_only(snapshot) and summary_of(snapshot).get(PREFIX + "kind") == MAINTENANCE
