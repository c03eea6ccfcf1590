"""Names of tables: `namespace.table` as people, seals and declarations write it, and its parts as Iceberg's APIs do.

A table of another catalog is `catalog:namespace.table`; the own catalog is named nowhere.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.typedef import Identifier

_SEPARATOR = "."
_CATALOG = ":"


def identifier_of(name: str) -> "Identifier":
    """The parts of a name, as catalogs and asset keys want them."""
    return tuple(name.split(_SEPARATOR))


def name_of(identifier: Sequence[str]) -> str:
    """The name of these parts."""
    return _SEPARATOR.join(identifier)


def table_name(table: "Table") -> str:
    """The name of a table that was loaded."""
    return name_of(table.name())


def split_catalog(name: str) -> tuple[str, str]:
    """The catalog, empty for the own one, and the table's name there: `azure:raw.orders` → `azure`, `raw.orders`."""
    catalog, separator, table = name.partition(_CATALOG)
    return (catalog, table) if separator else ("", name)


def is_elsewhere(name: str) -> bool:
    """Whether a name is of a table of another catalog."""
    return _CATALOG in name


def in_catalog(catalog: str, name: str) -> str:
    """The name of a table of a catalog; of the own one, whose name is empty, the name as it is."""
    return f"{catalog}{_CATALOG}{name}" if catalog else name
