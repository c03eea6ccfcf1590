"""Tables that take no records while the others of their stream go on: why, until when, and from seal to seal.

Their records wait in quarantine, so each is still in one place, and all tables that take part change in one publish.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from lakehouse import seal_keys
from lakehouse.declarations import Declarations, Stream, Table, ToAll, iceberg_schema
from lakehouse.declarations.columns.column import aliases_of
from lakehouse.errors import LakehouseError
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.routes.applied_tables import require_applied

Until = Literal["declared", "reprocessed", "mended"]
"""Until its declaration changes; until its waiting records are reprocessed as well; until the table is right again."""


@dataclass(frozen=True)
class Stop:
    """Why a table takes no records, and what ends that."""

    reason: str
    until: Until = "mended"


class StoppedBy(msgspec.Struct):
    """Why a table has stopped, the declaration that it had then, and what ends that; as seals have it."""

    reason: str
    declared: str
    until: Until = "declared"


def declared_digest(table: Table) -> str:
    """Of all that decides whether a table takes its records."""
    schema = [(f.name, str(f.field_type), f.required) for f in iceberg_schema(table).fields]
    content = (schema, sorted(aliases_of(table.columns).items()), repr(table.evolution))
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]


def may_stop(table: Table) -> bool:
    """Whether its policy stops it where its records change."""
    return table.evolution is not None and table.evolution.otherwise == "stop_table"


def stops_alone(stream: Stream, table: Table) -> bool:
    """Whether the others of its stream can go on without a table.

    Not where it is the only one, or where each record is for all of them: then nothing would go on. Not in a stream of
    changes, whose mirrors must not go on past changes that wait. The quarantine never.
    """
    if table.name not in stream.tables or stream.changes:
        return False
    return may_stop(table) or (len(stream.tables) > 1 and not isinstance(stream.route, ToAll))


def stopped_before(stream: Stream, declarations: Declarations, bases: Mapping[str, Base]) -> dict[str, Stop]:
    """Table → why, of those that a run before has stopped and that are declared as they were then.

    The quarantine's seal says it: that table takes part in each publish.
    """
    base = bases.get(stream.quarantine_table)
    keys = base.sealed.seal.statement if base and base.sealed else {}
    sealed = msgspec.json.decode(keys.get(seal_keys.EVOLUTION_STOPPED, "{}"), type=dict[str, StoppedBy])
    stopped: dict[str, Stop] = {}
    for name, by in sealed.items():
        table = declarations.tables.get(name)
        if table is None or not stops_alone(stream, table) or by.until == "mended":
            continue
        if declared_digest(table) == by.declared and (by.until == "reprocessed" or may_stop(table)):
            stopped[name] = Stop(by.reason, by.until)
    return stopped


def require_applied_or_stop(
    stream: Stream, declarations: Declarations, bases: Mapping[str, Base]
) -> dict[str, LakehouseError]:
    """Table → how it differs from its declaration, of those that stop alone; any other one that differs is refused.

    Raises:
        NotApplied: a column is missing, or narrower than declared.
        WouldLoseData: the table cannot become what is declared.
    """
    differing: dict[str, LakehouseError] = {}
    for name, base in bases.items():
        try:
            require_applied(declarations, {name: base})
        except LakehouseError as difference:
            if not stops_alone(stream, declarations.tables[name]):
                raise
            differing[name] = difference
    return differing


def require_one_that_goes_on(stream: Stream, declarations: Declarations, stops: Mapping[str, LakehouseError]) -> None:
    """Refuse to go on where no table would take a record, unless each is stopped by its own policy.

    Raises:
        LakehouseError: what stops the first of them.
    """
    if stops and all(name in stops for name in stream.tables):
        for name, error in stops.items():
            if not may_stop(declarations.tables[name]):
                raise error


def sealed_stops(declarations: Declarations, stopped: Mapping[str, Stop]) -> dict[str, StoppedBy]:
    """For the seal."""
    return {
        name: StoppedBy(stop.reason, declared_digest(declarations.tables[name]), stop.until)
        for name, stop in stopped.items()
    }


def reasons(stopped: Mapping[str, Stop]) -> dict[str, str]:
    """Table → why, as a person and the quarantine are told."""
    return {name: stop.reason for name, stop in stopped.items()}
