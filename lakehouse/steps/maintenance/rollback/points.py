"""Where tables can be set to: the seals of one step that all of them carry.

A step seals all of its tables in one attempt, and maintenance says again what the seal before it said. So a point is an
attempt, and at each point a table has one snapshot: its newest with that content and a seal. Ahead of `main` lies only
what was published once: what stands on the branch of an attempt never was.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pyiceberg.table import Table

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.history import Sealed, ancestry, head_of, summary_of
from lakehouse.protocol.seals.seal import MAINTENANCE, Seal

Direction = Literal["rollback", "forward"]


class RollbackRefused(LakehouseError):
    """What was asked would break a promise, or cannot be done; nothing was changed."""


@dataclass(frozen=True)
class SealedPoint:
    """A state that all of some tables have had together.

    Args:
        attempt: that sealed it.
        run_id: of that attempt.
        kind: of its seals.
        sealed_ms: when, milliseconds since the epoch.
        snapshots: table → snapshot to set it to.
        seals: table → the seal of that snapshot.
    """

    attempt: str
    run_id: str
    kind: str
    sealed_ms: int
    snapshots: Mapping[str, int]
    seals: Mapping[str, Sealed]


def points(tables: Mapping[str, Table], direction: Direction) -> list[SealedPoint]:
    """The points that all tables can be set to, newest first; a table that was never published to is no hindrance.

    Args:
        tables: by name, loaded at one moment.
        direction: `rollback`: what lies below `main`, with what it is now; `forward`: what it was set back from.
    """
    by_table = {name: _by_attempt(table, direction) for name, table in tables.items() if head_of(table) is not None}
    if not by_table:
        return []
    first = next(iter(by_table.values()))
    shared = [attempt for attempt in first if all(attempt in known for known in by_table.values())]
    shared_points = [_point(attempt, {name: known[attempt] for name, known in by_table.items()}) for attempt in shared]
    return sorted(shared_points, key=lambda point: point.sealed_ms, reverse=True)


def _point(attempt: str, sealed: Mapping[str, tuple[Sealed, Sealed]]) -> SealedPoint:
    step, _ = next(iter(sealed.values()))
    return SealedPoint(
        attempt=attempt,
        run_id=step.seal.run_id,
        kind=step.seal.kind,
        sealed_ms=max(own.timestamp_ms for own, _ in sealed.values()),
        snapshots={name: newest.snapshot_id for name, (_, newest) in sealed.items()},
        seals={name: newest for name, (_, newest) in sealed.items()},
    )


def _by_attempt(table: Table, direction: Direction) -> dict[str, tuple[Sealed, Sealed]]:
    """Attempt of a step → its seal, and the newest that repeats what it says; newest first."""
    known: dict[str, tuple[Sealed, Sealed]] = {}
    for head in _heads(table, direction):
        newest: Sealed | None = None
        for sealed in _sound(table, head):
            newest = newest or sealed
            if sealed.seal.kind == MAINTENANCE:
                continue
            known.setdefault(sealed.seal.attempt, (sealed, newest))
            newest = None
            if direction == "forward" and _is_below(table, sealed.snapshot_id):
                break
    return known


def _sound(table: Table, head: int) -> Iterator[Sealed]:
    """The seals below a snapshot, newest first, without those that were changed: they are what is gone back from."""
    for snapshot in ancestry(table, head):
        try:
            seal = Seal.from_summary(summary_of(snapshot), where=table_name(table))
        except SealBroken:
            continue
        if seal is not None:
            yield Sealed(snapshot.snapshot_id, snapshot.timestamp_ms, seal)


def _heads(table: Table, direction: Direction) -> Sequence[int]:
    """From where to walk down."""
    head = head_of(table)
    if direction == "rollback" or head is None:
        return [] if head is None else [head]
    return [*_ahead(table, head), head]


def _ahead(table: Table, head: int) -> Iterator[int]:
    """What `main` has been and is below of no more, newest first."""
    published = dict.fromkeys(entry.snapshot_id for entry in reversed(table.metadata.snapshot_log))
    for snapshot_id in published:
        if snapshot_id != head and any(entry.snapshot_id == head for entry in ancestry(table, snapshot_id)):
            yield snapshot_id


def _is_below(table: Table, snapshot_id: int) -> bool:
    """Whether `main` has it already."""
    return any(entry.snapshot_id == snapshot_id for entry in ancestry(table, head_of(table)))
