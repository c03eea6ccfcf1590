"""What is known of a table at one moment: plain values that go to JSON and back, and no table in them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum

import msgspec

from lakehouse.steps.maintenance.model.contents import Partition, PartitionState, Totals
from lakehouse.steps.maintenance.model.past import HolderKind, RefState, SnapshotHold, SnapshotState

__all__ = [
    "Cadence",
    "Depth",
    "HolderKind",
    "MeasuredState",
    "Partition",
    "PartitionState",
    "RefState",
    "Remembered",
    "SnapshotHold",
    "SnapshotState",
    "Totals",
    "Traits",
]


class Depth(IntEnum):
    """How much is read of a table to measure it."""

    TOTALS = 1
    PARTITIONS = 2
    FILES = 3


@dataclass(frozen=True, kw_only=True)
class Cadence:
    """How the table is written: from its history, as far as that goes.

    Attributes:
        appends_since_rewrite: commits that added files since the last rewrite; None where it is further back than
            the history goes.
        commit_ms: median time from the beginning of an attempt to its seal; None where nobody knows.
        append_bytes: median bytes of the newest appends; `append_files` that one adds, `append_partitions` it touches.
        changed_share: median share of the rows that one of the newest merges updates or deletes; None without any.
        copied_share: median share of the rows that one of them writes anew to do so.
    """

    appends_since_rewrite: int | None = None
    commit_ms: float | None = None
    append_bytes: int | None = None
    append_files: int | None = None
    append_partitions: int | None = None
    changed_share: float | None = None
    copied_share: float | None = None


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What of a table decides which operations it can bear.

    Attributes:
        format_version: of the table.
        sealed: whether there is a seal.
        sorted: whether it has a sort order.
        partitioned: whether its present spec has fields.
        gc_enabled: whether files may be deleted (`gc.enabled`).
        own_location: empty, or why its files do not lie in a folder that is its alone.
        statistics_rows: rows at the snapshot of the newest column statistics; None without any.
        properties: those of the table that maintenance goes by.
        writer: what writes it: stream, changelog, mirror, derived, release, own or none.
        followed_by: incremental tables and mirrors that read it in ranges.
        readers: how many declared tables and releases read it.
        stream_refuses: empty, or why the stream that writes it does not go on.
        not_loaded: what of the declarations does not load; who else reads the table, nobody knows then.
    """

    format_version: int = 2
    sealed: bool = True
    sorted: bool = False
    partitioned: bool = False
    gc_enabled: bool = True
    own_location: str = ""
    statistics_rows: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    writer: str = "none"
    followed_by: tuple[str, ...] = ()
    readers: int = 0
    stream_refuses: str = ""
    not_loaded: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """What no metadata says, and the tables of maintenance do.

    Attributes:
        counted_at: when the files of each partition were last counted, if nothing was due or waiting since; None for
            not lately.
        orphans_looked_at: when files were last listed; None for never.
        orphan_candidates: files that the last look found and that are still there.
        deduplicated: key of a partition → time of the newest snapshot at which each key was there once.
    """

    counted_at: datetime | None = None
    orphans_looked_at: datetime | None = None
    orphan_candidates: int = 0
    deduplicated: Mapping[str, datetime] = field(default_factory=dict[str, datetime])


@dataclass(frozen=True, kw_only=True)
class MeasuredState:
    """A table as it was measured.

    Attributes:
        table: `namespace.table`.
        uuid: of the table.
        document: name of the metadata file: as long as it is the same, nothing has changed.
        snapshot_id: of `main`.
        updated_at: when the document was written.
        created_at: when the table was made; None where its metadata no longer say so.
        measured_at: the only time that a decision knows.
        depth: the deepest tier that was read, `deeper_because` of what.
        totals: tier one.
        partitions: tier two; None where tier one gave no reason to look.
        history: all snapshot entries, oldest first.
        refs: all branches and tags.
        cadence: of all writers.
        traits: what operations have to know.
        holders: who needs old snapshots.
        remembered: what earlier maintenance has noted about the table.
        unreadable: why nothing could be measured; then the rest is empty.
    """

    table: str
    uuid: str = ""
    document: str = ""
    snapshot_id: int | None = None
    updated_at: datetime | None = None
    created_at: datetime | None = None
    measured_at: datetime
    depth: Depth = Depth.TOTALS
    deeper_because: str = ""
    totals: Totals = field(default_factory=Totals)
    partitions: tuple[PartitionState, ...] | None = None
    history: tuple[SnapshotState, ...] = ()
    refs: tuple[RefState, ...] = ()
    cadence: Cadence = field(default_factory=Cadence)
    traits: Traits = field(default_factory=Traits)
    holders: tuple[SnapshotHold, ...] = ()
    remembered: Remembered = field(default_factory=Remembered)
    unreadable: str = ""

    @property
    def digest(self) -> str:
        """The same for the same state, its moment included."""
        return hashlib.sha256(self.to_json()).hexdigest()[:32]

    @property
    def main(self) -> tuple[SnapshotState, ...]:
        """The history of `main`, oldest first."""
        return tuple(snapshot for snapshot in self.history if snapshot.on_main)

    def to_json(self) -> bytes:
        """All of it."""
        return msgspec.json.encode(self, order="sorted")

    @classmethod
    def from_json(cls, text: bytes | str) -> "MeasuredState":
        """Read it back."""
        return msgspec.json.decode(text, type=cls)
