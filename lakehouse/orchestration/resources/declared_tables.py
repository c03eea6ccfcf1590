"""Declared tables by name: one that nobody declared is refused, and one that does not exist yet is made.

The lakehouse's own tables are not a user's to change: what another version declares of them is made at once.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from lakehouse.declarations import Declarations, Mirror, Stream, Table, apply, plan
from lakehouse.declarations.registry.declarations import OWN_TABLES
from lakehouse.declarations.registry.mistyped_names import declare_or_use
from lakehouse.declarations.schema_changes.changes import AddColumn, RelaxColumn, WidenColumn
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import LakeCatalog, TableMissing


class NotDeclared(LakehouseError):
    """Nobody declared a table of this name."""


class TableStopped(LakehouseError):
    """A table is left out of what is declared, by a mistake in a file."""


class DeclarationAhead(LakehouseError):
    """A table's columns are not the declared ones."""


def declared_table(declarations: Declarations, name: str, folders: Sequence[Path]) -> Table:
    """The declaration of a table.

    Args:
        declarations: all that there are.
        name: `namespace.table`.
        folders: where they were read, for the remedy.

    Raises:
        NotDeclared: there is none.
        TableStopped: its file does not load, or what it needs is declared in one that does not.
    """
    table = declarations.tables.get(name)
    if table is None and name in declarations.stopped:
        raise TableStopped(f"Table {name} is stopped: {declarations.stopped[name]}", remedy="correct that file.")
    if table is None:
        raise NotDeclared(
            f"Table {name} is not declared.", remedy=f"declare it in a file below {', '.join(map(str, folders))}."
        )
    return table


def require_there(catalog: LakeCatalog, declarations: Declarations, names: Iterable[str]) -> None:
    """Refuse to read what is not there.

    Raises:
        TableMissing: one of the tables does not exist.
    """
    for name in names:
        if not catalog.table_exists(identifier_of(name)):
            if name in declarations.tables:
                raise TableMissing(f"Table {name} is declared, and not made yet.", remedy="materialize it first.")
            raise TableMissing(f"There is no table {name}.", remedy=declare_or_use(name, declarations.tables))


def ensure_table(catalog: LakeCatalog, table: Table) -> bool:
    """Create a table that does not exist yet; whether that was so.

    Raises:
        DeclarationAhead: it exists, and its declaration asks for other columns than it has.
        WouldLoseData: one of our own tables holds what this version cannot.
    """
    planned = plan(table, catalog)
    if planned.base is None:
        apply(planned, catalog)
        return True
    ahead = [str(c) for c in planned.changes if isinstance(c, AddColumn | WidenColumn | RelaxColumn)]
    if ahead and table.name in OWN_TABLES:
        apply(planned, catalog)
    elif ahead:
        raise DeclarationAhead(
            f"Table {table.name} is not yet as it is declared ({'; '.join(ahead)}).",
            remedy="look at the difference with `lakehouse plan`, then make it with `lakehouse apply`.",
        )
    return False


def dated_tables(declarations: Declarations) -> set[str]:
    """Names of the tables that carry a runtime date."""
    return {name for name, table in declarations.tables.items() if table.runtime_date_column is not None}


def with_siblings(catalog: LakeCatalog, declarations: Declarations, names: Iterable[str]) -> list[str]:
    """The tables themselves, and for those of a stream or mirror their siblings that exist, quarantine included."""
    tables: dict[str, None] = {}
    for name in names:
        writer = declarations.writer(name)
        siblings = (*writer.tables, writer.quarantine_table) if isinstance(writer, Stream | Mirror) else (name,)
        tables |= dict.fromkeys(s for s in siblings if s == name or catalog.table_exists(identifier_of(s)))
    return list(tables)
