"""Tables of a catalog that answers for one table at a time, as they were at one moment."""

from collections.abc import Callable, Sequence

from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import name_of

_COLLECT_TRIES = 20


class ReadsNeverSettled(LakehouseError):
    """The tables changed faster than they could be read together."""


def settled(load: Callable[[Identifier], Table], identifiers: Sequence[Identifier]) -> dict[Identifier, Table]:
    """Load several tables until two rounds see the same documents: all held at one moment between the rounds.

    Args:
        load: one table.
        identifiers: of all.

    Raises:
        ReadsNeverSettled: the tables changed during every attempt.
    """
    tables = {identifier: load(identifier) for identifier in identifiers}
    if len(tables) < 2:
        return tables
    for _ in range(_COLLECT_TRIES):
        reloaded = {identifier: load(identifier) for identifier in identifiers}
        if all(_state(tables[i]) == _state(reloaded[i]) for i in identifiers):
            return reloaded
        tables = reloaded
    names = ", ".join(name_of(identifier) for identifier in identifiers)
    raise ReadsNeverSettled(
        f"{names} changed during each of {_COLLECT_TRIES} attempts to read them together.",
        remedy="read again when fewer commits are under way, or read a release",
    )


def _state(table: Table) -> tuple[str, int | None]:
    # A rollback brings an old snapshot back, never an old document: the location tells the two apart.
    snapshot = table.current_snapshot()
    return table.metadata_location, snapshot.snapshot_id if snapshot else None
