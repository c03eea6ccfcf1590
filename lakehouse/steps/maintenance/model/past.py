"""What a table keeps of its past, as it was measured: snapshots, branches and tags, and who needs them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

HolderKind = Literal[
    "mirror", "incremental", "lease", "pin", "release", "checkpoint", "tag", "attempt", "branch", "evidence"
]


@dataclass(frozen=True, kw_only=True)
class SnapshotState:
    """One snapshot entry.

    Attributes:
        timestamp: when it was made.
        operation: Iceberg's word: append, overwrite, delete or replace.
        kind: of the seal it carries, or empty.
        attempt: that made it, or empty.
        on_main: whether it is in the history of `main`.
    """

    snapshot_id: int
    parent_id: int | None
    timestamp: datetime
    operation: str = ""
    kind: str = ""
    attempt: str = ""
    on_main: bool = True


@dataclass(frozen=True, kw_only=True)
class RefState:
    """A branch or tag.

    Attributes:
        begun: when the attempt that a branch belongs to was begun; None for others.
    """

    name: str
    kind: Literal["branch", "tag"]
    snapshot_id: int
    begun: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SnapshotHold:
    """Somebody who needs old snapshots.

    Attributes:
        kind: what sort of holder.
        owner: who, by name: a table, a release, a tag, a person's lease.
        snapshot_id: that is held.
        since_on: whether everything after it on `main` is held too, because it is read in ranges.
        until: when the hold ends by itself; None for never.
        command: what a person can do about it.
        reason: why, in the owner's words.
    """

    kind: HolderKind
    owner: str
    snapshot_id: int
    since_on: bool = False
    until: datetime | None = None
    command: str = ""
    reason: str = ""
