"""The pointer: the newest seal of the table `release.<group>`. Moving it is one publish.

The table's rows are its history, one for each time it was moved. Who moves it has read it first: if it was moved
meanwhile, the publish ends as superseded, so neither of two releases, nor a rollback, undoes the other unseen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import AlwaysTrue, BooleanExpression, EqualTo
from pyiceberg.table import Table

from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import publish, stage_rows
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.lost_main import lost_main
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.release.errors import NothingReleased, PointerDamaged, ReleaseGone, ReleaseUnknown
from lakehouse.steps.release.names import group_of
from lakehouse.steps.release.statement import PointerStatement, ReleaseMember


class PointerRow(msgspec.Struct, frozen=True, rename={"timestamp": "at"}):
    """A row of the pointer's table.

    Attributes:
        id: the release that the pointer names from here on.
        kind: `release` or `rollback`.
    """

    id: str
    kind: str
    timestamp: datetime
    members: tuple[ReleaseMember, ...]
    runtime_date: str
    parameters_digest: str
    parameters: str
    run_id: str
    root_run_id: str
    code_version: str
    moved_by: str
    why: str


@dataclass(frozen=True)
class Pointer:
    """The pointer as it was found.

    Args:
        base: its table.
        statement: what its newest seal says; None before the first release.
    """

    base: Base
    statement: PointerStatement | None

    @property
    def current(self) -> PointerStatement:
        """What the newest seal says.

        Raises:
            NothingReleased: there is none yet.
        """
        if self.statement is None:
            raise NothingReleased(
                f"{self.base.name} names no release yet.",
                remedy=f"materialize the asset {'/'.join(self.base.identifier)}; it says what a release waits for",
            )
        return self.statement

    def next_move(self) -> datetime:
        """Now, for a record: later than the last move, whatever the clock says."""
        last_ms = self.statement.moved_ms if self.statement else 0
        return max(datetime.now(UTC), datetime.fromtimestamp((last_ms + 1) / 1000, UTC))


def load_pointer(catalog: LakeCatalog, group: str) -> Pointer:
    """The pointer of a group as it is now.

    Raises:
        NothingReleased: it has no table, which the first try to release makes.
        SealBroken, PointerDamaged: see `read_pointer`.
    """
    try:
        return read_pointer(catalog.load_table(("release", group)))
    except NoSuchTableError as error:
        raise NothingReleased(
            f"There is no table release.{group}: nothing was released under this name, or the table was dropped.",
            remedy=f"materialize the asset release/{group}, as `lakehouse run` does; `lakehouse release list` shows "
            "which are declared",
        ) from error


def read_pointer(table: Table) -> Pointer:
    """What a loaded pointer table says.

    Raises:
        SealBroken: the newest seal was changed after it was written.
        PointerDamaged: its `main` is gone; or the table has rows, and its newest seal is not about a release, or
            cannot be read as such.
    """
    if lost := lost_main(table):
        message, _, remedy = lost.partition(". ")
        raise PointerDamaged(f"{message}.", remedy=remedy)
    base = Base.of(table)
    try:
        statement = PointerStatement.from_keys(base.sealed.seal.statement) if base.sealed else None
    except (KeyError, ValueError, msgspec.MsgspecError) as error:
        snapshot_id = base.sealed.snapshot_id if base.sealed else 0
        raise PointerDamaged(
            f"{base.name}: what the seal of snapshot {snapshot_id} says of a release cannot be read "
            f"({type(error).__name__}: {error}).",
            remedy="roll it back to the snapshot before, or restore the metadata from a backup",
        ) from error
    if statement is None and (base.has_rows or base.sealed is not None):
        raise PointerDamaged(
            f"{base.name} was written by something that is no release, so it names none.",
            remedy="roll it back to the newest snapshot whose summary has lakehouse.release.current",
        )
    if statement is not None and group_of(statement.current) != base.identifier[-1]:
        raise PointerDamaged(
            f"{base.name} names {statement.current}, which another group released: somebody renamed or swapped it.",
            remedy="rename the tables back; `lakehouse audit` says whether all is well then",
        )
    return Pointer(base, statement)


def move_pointer(
    catalog: LakeCatalog, pointer: Pointer, attempt: Attempt, statement: PointerStatement, move: PointerRow
) -> int:
    """Let the pointer name another release, and write the row that says so; returns the seal's snapshot.

    Raises:
        Superseded: somebody else moved it since it was read.
        CommitError: one of its other kinds; the pointer is where it was.
    """
    base = pointer.base
    previous = base.sealed.seal if base.sealed else None
    inputs = {member.table: member.snapshot_id for member in move.members}
    seal = Seal.of(attempt, move.kind, statement=statement.to_keys(), previous=previous, inputs=inputs)
    return publish(catalog, [stage_rows(catalog, base, attempt, [_shown(move)], seal)]).snapshots[base.name]


def moves(table: Table, where: BooleanExpression | None = None) -> list[PointerRow]:
    """Every time that the pointer was moved, newest first."""
    scan = table.scan(row_filter=where or AlwaysTrue(), snapshot_id=head_of(table))
    rows = scan.to_arrow().to_pylist() if head_of(table) is not None else []
    return sorted((msgspec.convert(row, PointerRow) for row in rows), key=lambda move: move.timestamp, reverse=True)


def members_of(pointer: Pointer, release_id: str) -> tuple[ReleaseMember, ...]:
    """The tables of a release that is still kept.

    Raises:
        NothingReleased: there is no release at all.
        ReleaseGone: it was one once, and is older than those that are kept.
        ReleaseUnknown: it never was one.
    """
    now = pointer.current
    if release_id == now.current:
        return now.members
    row = recorded(pointer.base.table, release_id)
    if row is None:
        raise ReleaseUnknown(
            f"{pointer.base.name} has no release {release_id}.",
            remedy=f"name one that is kept, such as {now.current}; `lakehouse release list` shows all",
        )
    if release_id not in now.kept:
        raise gone(pointer.base.name, release_id, now.kept)
    return row.members


def recorded(table: Table, release_id: str) -> PointerRow | None:
    """The row with which a release was made."""
    return next(iter(moves(table, EqualTo("id", release_id))[::-1]), None)  # pyright: ignore[reportCallIssue]


def gone(pointer: str, release_id: str, kept: Sequence[str]) -> ReleaseGone:
    """The error for a release that is no longer kept."""
    return ReleaseGone(
        f"Release {release_id} is older than the {len(kept)} that {pointer} keeps, so its tags are gone.",
        remedy=f"open the current release, {kept[0] if kept else '(none)'} or newer; a slow reader needs a larger "
        "`keep` in the release's declaration",
    )


def _shown(move: PointerRow) -> dict[str, Any]:
    columns = dict(zip(move.__struct_encode_fields__, msgspec.structs.astuple(move), strict=True))
    return {**columns, "members": [msgspec.structs.asdict(member) for member in move.members]}
