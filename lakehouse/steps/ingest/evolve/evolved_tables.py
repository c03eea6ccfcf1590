"""The declarations of a stream with its tables as they are by now, where the stream may change them."""

from collections.abc import Mapping
from dataclasses import replace

from lakehouse.declarations import Declarations, Table
from lakehouse.declarations.schema_changes.evolved import with_stored_columns
from lakehouse.protocol.seals.base import Base


def as_evolved(declarations: Declarations, bases: Mapping[str, Base]) -> Declarations:
    """Every table of a step with the columns that it has got since it was declared."""
    evolved = {
        name: evolved_table(table, base)
        for name, base in bases.items()
        if (table := declarations.tables[name]).evolution is not None
    }
    return replace(declarations, tables={**declarations.tables, **evolved}) if evolved else declarations


def evolved_table(table: Table, base: Base) -> Table:
    """The same of one table."""
    return with_stored_columns(table, base.table.schema(), base.table.properties)
