"""A sealed branch that waits to be published, and that what is on it is one attempt's work alone."""

from dataclasses import dataclass, replace

from pyiceberg.table import Table

from lakehouse.protocol.commit.replacement import Replacement
from lakehouse.protocol.errors import ForeignCommit
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import ancestry, attempt_of
from lakehouse.protocol.seals.seal import Seal


@dataclass(frozen=True)
class Staged:
    """A sealed branch, ready to be published.

    Args:
        branch: the branch that holds the work.
        head: snapshot id of the seal.
        retired: branches that earlier bases used; publishing removes them too.
        replacement: the files that it puts in the place of others, if it only rearranges the table.
        claimed: snapshots without the attempt's marks that are its own all the same; see `commit.as_written`.
    """

    base: Base
    attempt: Attempt
    branch: str
    head: int
    seal: Seal
    retired: tuple[str, ...] = ()
    replacement: Replacement | None = None
    claimed: frozenset[int] = frozenset()

    @property
    def maintains(self) -> bool:
        """Whether the rows stay the same, so that what others write is no reason to give up."""
        return self.replacement is not None or bool(self.claimed)


def require_descent(table: Table, staged: Staged) -> None:
    """Refuse a head that does not descend from its base through exactly this attempt's commits.

    Without this check, rows of a snapshot that was rolled back meanwhile come back to life.

    Raises:
        ForeignCommit: there is a commit of somebody else in between, or the base is not an ancestor.
    """
    for snapshot in ancestry(table, staged.head):
        if snapshot.snapshot_id == staged.base.snapshot_id:
            return
        if attempt_of(snapshot) != staged.attempt.id and snapshot.snapshot_id not in staged.claimed:
            raise ForeignCommit(
                f"{staged.base.name}: snapshot {snapshot.snapshot_id} on branch {staged.branch} is not this attempt's.",
                remedy="run the step again; the branch stays for inspection until housekeeping removes it",
            )
    if staged.base.snapshot_id is not None:
        raise ForeignCommit(
            f"{staged.base.name}: branch {staged.branch} does not descend from snapshot {staged.base.snapshot_id}.",
            remedy="run the step again",
        )


def moved(staged: Staged, *, base: Base, branch: str, head: int, seal: Seal) -> Staged:
    """The same work on a newer base."""
    return replace(staged, base=base, branch=branch, head=head, seal=seal, retired=(*staged.retired, staged.branch))
