"""Puts a replacement on `main`, wherever that is by now: a snapshot `replace` with the attempt's marks, and a seal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyiceberg.table import Transaction
from pyiceberg.table.update import TableRequirement
from pyiceberg.table.update.snapshot import ManageSnapshots

from lakehouse import seal_keys
from lakehouse.protocol.catalog import LakeCatalog, ref_is
from lakehouse.protocol.commit.replace_snapshot import Regrouped, ReplaceFiles
from lakehouse.protocol.commit.replacement import Replacement
from lakehouse.protocol.commit.stage import commit_on_branch, seal_on
from lakehouse.protocol.commit.staged import Staged, moved
from lakehouse.protocol.errors import ForeignCommit, MainMoved
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.seal import Seal

NOTES = seal_keys.PREFIX + "maintenance."


def stage_replacement(
    catalog: LakeCatalog, base: Base, attempt: Attempt, replacement: Replacement, notes: Mapping[str, str] | None = None
) -> Staged:
    """Put a replacement and its seal on a fresh branch at the base, which may be newer than what was rewritten.

    Args:
        catalog: where the table lives.
        base: the table as it is now.
        attempt: who maintains it; a branch that it has written to so far is retired.
        replacement: what goes, and what comes.
        notes: what the snapshot says of itself, under `lakehouse.maintenance.`.

    Raises:
        FilesTouched: rows of the files that go were removed since they were rewritten.
        ContentChanged: what was written is not what was to be written.
        ForeignCommit: there are commits that nobody sealed, which a seal over them would hide.
        MainMoved: the table has no snapshot any more, or somebody removed the branch, and with it the files.
    """
    replacement = replace(replacement, notes={**replacement.notes, **(notes or {})})
    branch_head = head_of(base.table, attempt.branch)
    if replacement.head is not None and branch_head != replacement.head:
        raise MainMoved(
            f"{base.name}: branch {attempt.branch} was removed or written to, so the files on it are not to be had.",
            remedy="nothing is lost: they are written again",
        )
    retired = () if branch_head is None else (attempt.branch,)
    branch = attempt.rebase_branch(1) if retired else attempt.branch
    failpoint("stage.before")
    require = [ref_is(attempt.branch, branch_head)] if retired else []
    head, seal = _commit(catalog, base, attempt, branch, replacement, require)
    failpoint("seal.after")
    return Staged(base, attempt, branch, head, seal, retired=retired, replacement=replacement)


def restage(catalog: LakeCatalog, staged: Staged, base: Base) -> Staged:
    """Put the same replacement on a newer base.

    Raises:
        CommitError: as for `stage_replacement`.
    """
    assert staged.replacement is not None
    branch = staged.attempt.rebase_branch(len(staged.retired) + 1)
    # As for any rebase: while the branch before is there, housekeeping sees whose the files are.
    require = [ref_is(staged.branch, staged.head)]
    regrouped = Regrouped.by(base.table, staged.base.snapshot_id, staged.head) if staged.replacement.regroup else None
    head, seal = _commit(catalog, base, staged.attempt, branch, staged.replacement, require, regrouped=regrouped)
    return moved(staged, base=base, branch=branch, head=head, seal=seal)


def _commit(
    catalog: LakeCatalog,
    base: Base,
    attempt: Attempt,
    branch: str,
    replacement: Replacement,
    require: Sequence[TableRequirement],
    *,
    regrouped: Regrouped | None = None,
) -> tuple[int, Seal]:
    if (snapshot_id := base.snapshot_id) is None or base.sealed is None:
        raise MainMoved(f"{base.name}: there is no sealed snapshot to maintain.", remedy="run the table's step first")
    if unsealed := base.unsealed:
        raise ForeignCommit(
            f"{base.name}: snapshot {unsealed[0].snapshot_id} was written to main outside the protocol, and a seal of "
            "maintenance on top of it would hide that.",
            remedy="run the table's step, which says what to do about it",
        )
    seal = Seal.repeated(base.sealed.seal, attempt)
    marks = {
        **attempt.marks,
        NOTES + "source": str(replacement.source),
        **{NOTES + key: value for key, value in replacement.notes.items()},
    }

    def build(transaction: Transaction) -> None:
        ManageSnapshots(transaction).create_branch(snapshot_id, branch).commit()
        ReplaceFiles(transaction, base.table, replacement, marks, branch, regrouped=regrouped).commit()
        seal_on(transaction, base, branch, seal)

    return commit_on_branch(catalog, base, branch, build, require=require), seal
