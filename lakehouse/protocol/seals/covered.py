"""Which commits of a table does no seal account for? Whatever is between a seal and the one before it must be its own.

A publish puts the commits of one attempt on `main`, and the seal of that attempt right on top of them. Any other commit
came from outside the protocol, also one that bears the mark of an attempt elsewhere. Commits that say of themselves
that they only rearrange files are another matter: what they have done can be proven.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.protocol.seals.history import ancestry, is_rewrite, is_seal_only, summary_of


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
    commits: dict[int, str] = {}
    recorded: dict[int, str] = {}
    sealed_by: str | None = None
    for snapshot in ancestry(table, snapshot_id):
        summary = summary_of(snapshot)
        if seal_keys.VERSION in summary:
            sealed_by = summary.get(seal_keys.ATTEMPT)
            if not is_seal_only(snapshot):  # its keys were copied to a commit of rows
                commits[snapshot.snapshot_id] = _describe(snapshot)
                continue
            if settles(summary):
                break
            recorded |= _recorded(summary)
        elif sealed_by is not None and summary.get(seal_keys.ATTEMPT) == sealed_by:
            continue
        elif not is_rewrite(snapshot):
            commits[snapshot.snapshot_id] = _describe(snapshot)
    older = {snapshot_id: words for snapshot_id, words in recorded.items() if snapshot_id not in commits}
    return [UncoveredCommit(snapshot_id, words) for snapshot_id, words in (commits | older).items()]


def settles(summary: Mapping[str, str]) -> bool:
    """Whether a summary is that of a seal which says that nothing is left of before, or that a person took it over."""
    if seal_keys.VERSION not in summary:
        return False
    return _is_settling(summary.get(seal_keys.KIND, ""), summary, seal_keys.PREFIX)


def is_settling(kind: str, statement: Mapping[str, str]) -> bool:
    """The same of a seal that is still to be written."""
    return _is_settling(kind, statement, "")


def _is_settling(kind: str, texts: Mapping[str, str], prefix: str) -> bool:
    match kind:
        case "adopt" | "rebuild":
            return True
        case "write":
            return texts.get(prefix + seal_keys.WRITE_MODE) == "overwrite"
        case "derive":
            form = (texts.get(prefix + seal_keys.DERIVED_MODE), texts.get(prefix + seal_keys.DERIVED_PARTITION))
            return form == ("full", "[]")
        case _:
            return False


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
