"""Names of tables: `namespace.table` as people, seals and declarations write it, and its parts as Iceberg's APIs do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.typedef import Identifier

_SEPARATOR = "."


def identifier_of(name: str) -> "Identifier":
    """The parts of a name, as catalogs and asset keys want them."""
    return tuple(name.split(_SEPARATOR))


def name_of(identifier: Sequence[str]) -> str:
    """The name of these parts."""
    return _SEPARATOR.join(identifier)


def table_name(table: "Table") -> str:
    """The name of a table that was loaded."""
    return name_of(table.name())
