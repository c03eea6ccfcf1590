"""Tables that take no more records until a person has changed their declaration: from seal to seal."""

import hashlib
from collections.abc import Mapping

import msgspec

from lakehouse import seal_keys
from lakehouse.declarations import Declarations, Table, iceberg_schema
from lakehouse.declarations.columns.column import aliases_of
from lakehouse.errors import LakehouseError
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.applied_tables import require_applied


class StoppedBy(msgspec.Struct):
    """Why a table has stopped, and the declaration that it had then."""

    reason: str
    declared: str


def declared_digest(table: Table) -> str:
    """Of all that decides whether a table takes its records."""
    schema = [(f.name, str(f.field_type), f.required) for f in iceberg_schema(table).fields]
    content = (schema, sorted(aliases_of(table.columns).items()), repr(table.evolution))
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]


def may_stop(table: Table) -> bool:
    """Whether it stops by itself, and the other tables of its stream go on."""
    return table.evolution is not None and table.evolution.otherwise == "stop_table"


def stopped_before(declarations: Declarations, bases: Mapping[str, Base]) -> dict[str, str]:
    """Table → why, of those that a run before has stopped and that are declared as they were then."""
    stopped: dict[str, str] = {}
    for base in bases.values():
        keys = base.sealed.seal.statement if base.sealed else {}
        sealed = msgspec.json.decode(keys.get(seal_keys.EVOLUTION_STOPPED, "{}"), type=dict[str, StoppedBy])
        for name, by in sealed.items():
            table = declarations.tables.get(name)
            if name in bases and table is not None and may_stop(table) and declared_digest(table) == by.declared:
                stopped[name] = by.reason
    return stopped


def require_applied_or_stop(declarations: Declarations, bases: Mapping[str, Base]) -> dict[str, str]:
    """Table → why, of those that differ from their declarations and may stop; any other one that differs is refused.

    Raises:
        NotApplied: a column is missing, or narrower than declared.
        WouldLoseData: the table cannot become what is declared.
    """
    stopped: dict[str, str] = {}
    for name, base in bases.items():
        try:
            require_applied(declarations, {name: base})
        except LakehouseError as difference:
            if not may_stop(declarations.tables[name]):
                raise
            stopped[name] = str(difference)
    return stopped


def sealed_stops(declarations: Declarations, stopped: Mapping[str, str]) -> dict[str, StoppedBy]:
    """For the seal."""
    return {name: StoppedBy(why, declared_digest(declarations.tables[name])) for name, why in stopped.items()}
