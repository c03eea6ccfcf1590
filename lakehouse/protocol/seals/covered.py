"""Which commits of a table does no seal account for? Whatever is between a seal and the one before it must be its own.

A publish puts the commits of one attempt on `main`, and the seal of that attempt right on top of them. Any other commit
came from outside the protocol, also one that bears the mark of an attempt elsewhere. Commits that say of themselves
that they only rearrange files are another matter: what they have done can be proven.
"""

from collections.abc import Collection, Iterator

import msgspec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.protocol.seals.history import ancestry, attempt_of, is_rewrite, is_seal_only, summary_of


def unsealed_commits(table: Table, snapshot_id: int | None) -> list[Snapshot]:
    """The commits that led to a snapshot and that no seal accounts for, newest first, as far as history goes.

    What lies below a seal that settles the matter is left out: a person adopted the rows, or the step replaced them
    all. Whether seals are what they were is not asked here.
    """
    commits: list[Snapshot] = []
    sealed_by: str | None = None
    for snapshot in ancestry(table, snapshot_id):
        summary = summary_of(snapshot)
        if seal_keys.VERSION in summary:
            sealed_by = summary.get(seal_keys.ATTEMPT)
            if not is_seal_only(snapshot):  # its keys were copied to a commit of rows
                commits.append(snapshot)
            elif settles(snapshot):
                return commits
        elif attempt_of(snapshot) is not None and attempt_of(snapshot) == sealed_by:
            continue
        elif not is_rewrite(snapshot):
            commits.append(snapshot)
    return commits


def foreign_rewrites(table: Table, snapshot_id: int | None, *, until: Collection[int] = ()) -> Iterator[Snapshot]:
    """Rewrites that led to a snapshot and that are not ours, newest first, as far as the rows may still be theirs.

    It ends at the first snapshot of `until`.

    Ours bear the mark of the attempt whose seal lies right above. What Spark writes into tables of version 3 cannot
    bear it, and is claimed by that seal.
    """
    sealed_by: str | None = None
    claimed: frozenset[int] = frozenset()
    for snapshot in ancestry(table, snapshot_id):
        if snapshot.snapshot_id in until:
            return
        summary, attempt = summary_of(snapshot), attempt_of(snapshot)
        if seal_keys.VERSION in summary:
            if settles(snapshot):
                return
            sealed_by, claimed = attempt, _claimed(snapshot)
        elif is_rewrite(snapshot) and snapshot.snapshot_id not in claimed and (attempt is None or attempt != sealed_by):
            yield snapshot


def _claimed(sealed: Snapshot) -> frozenset[int]:
    """The snapshots that a seal claims. That it is as it was written is for other proofs to say."""
    text = summary_of(sealed).get(seal_keys.PREFIX + seal_keys.REWRITE_CLAIMED, "[]")
    try:
        return frozenset(msgspec.json.decode(text, type=list[int]))
    except msgspec.MsgspecError:
        return frozenset()


def settles(snapshot: Snapshot) -> bool:
    """Whether a seal says that nothing is left of what was there before, or that a person has taken it over."""
    summary = summary_of(snapshot)
    if seal_keys.VERSION not in summary:
        return False
    match summary.get(seal_keys.KIND):
        case "adopt" | "rebuild":
            return True
        case "write":
            return summary.get(seal_keys.PREFIX + seal_keys.WRITE_MODE) == "overwrite"
        case "derive":
            return (
                summary.get(seal_keys.PREFIX + seal_keys.DERIVED_MODE),
                summary.get(seal_keys.PREFIX + seal_keys.DERIVED_PARTITION),
            ) == ("full", "[]")
        case _:
            return False


def in_words(snapshot: Snapshot) -> str:
    """A commit for a person: `snapshot 7 (append, 2 rows added, 0 deleted)`."""
    summary = summary_of(snapshot)
    operation = snapshot.summary.operation.value if snapshot.summary else "unknown"
    counts = f"{summary.get('added-records', 0)} rows added, {summary.get('deleted-records', 0)} deleted"
    return f"snapshot {snapshot.snapshot_id} ({operation}, {counts})"
