"""Which commits of a table does no seal account for? Whatever is between a seal and the one before it must be its own.

A publish puts the commits of one attempt on `main`, and the seal of that attempt right on top of them. Any other commit
came from outside the protocol, also one that bears the mark of an attempt elsewhere. Commits that say of themselves
that they only rearrange files are another matter: what they have done can be proven.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.protocol.seals.history import is_rewrite, is_seal_only, summary_of
from lakehouse.protocol.seals.remarkable import remarkable_snapshots
from lakehouse.protocol.seals.settling import settles


@dataclass(frozen=True)
class UncoveredCommit:
    """A commit from outside the protocol. For a person it is `snapshot 7 (append, 2 rows added, 0 deleted)`.

    Args:
        snapshot_id: its snapshot, whose entry may have gone.
        description: what it did, by its own summary.
    """

    snapshot_id: int
    description: str

    def __str__(self) -> str:
        return f"snapshot {self.snapshot_id} ({self.description})"


def unsealed_commits(table: Table, snapshot_id: int | None) -> list[UncoveredCommit]:
    """The commits that led to a snapshot and that no seal accounts for, newest first.

    Where history does not go so far any more, the seals that are left name them. What lies below a seal that settles
    the matter is left out: a person adopted the rows, or the step replaced them all. Whether seals are what they were
    is not asked here.
    """
    return uncovered_of(remarkable_snapshots(table, snapshot_id))


def uncovered_of(remarkable: Iterable[Snapshot]) -> list[UncoveredCommit]:
    """The same of a history whose `remarkable_snapshots` are these."""
    commits: dict[int, str] = {}
    recorded: dict[int, str] = {}
    for snapshot in remarkable:
        summary = summary_of(snapshot)
        if is_seal_only(snapshot):
            if settles(summary):
                break
            recorded |= _recorded(summary)
        elif seal_keys.VERSION in summary or not is_rewrite(snapshot):  # or a seal's keys were copied to rows
            commits[snapshot.snapshot_id] = _describe(snapshot)
    older = {snapshot_id: words for snapshot_id, words in recorded.items() if snapshot_id not in commits}
    return [UncoveredCommit(snapshot_id, words) for snapshot_id, words in (commits | older).items()]


def _describe(snapshot: Snapshot) -> str:
    summary = summary_of(snapshot)
    operation = snapshot.summary.operation.value if snapshot.summary else "unknown"
    added = summary.get("added-records", "0")
    rows = "row" if added == "1" else "rows"
    return f"{operation}, {added} {rows} added, {summary.get('deleted-records', 0)} deleted"


def _recorded(summary: Mapping[str, str]) -> dict[int, str]:
    """What a seal carries on, newest first. That it is as it was written is for other proofs to say."""
    if (text := summary.get(seal_keys.PREFIX + seal_keys.FOREIGN_COMMITS)) is None:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[int, str])
    except msgspec.MsgspecError:
        return {}
