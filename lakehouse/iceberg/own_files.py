"""Which files a table may delete: what lies where the table lies, and nothing that its metadata merely names.

Whoever may write to a table decides which paths its manifests, statistics and branches name: files of other tables
(`add_files`), or any other. So a file goes only from below the table's location, and not from where another table lies
there. The location is a word of the same people, who may say that it is the root of everything: it is believed where
the newest document of the metadata lies in its folder `metadata`, as every writer lays it, unless `write.metadata.path`
says otherwise.

And nothing goes from outside of the warehouse of an embedded catalog. Where a lakehouse's folder was copied, the copy's
catalog still names the files of the original.
"""

from collections.abc import Collection, Iterable

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from lakehouse.iceberg.locations import place_of

DELETE_OLD_METADATA = "write.metadata.delete-after-commit.enabled"
_METADATA = "metadata/"


def warehouse_of(catalog: Catalog) -> str:
    """The folder in which an embedded catalog's tables lie; empty for others: to a REST catalog it is but a name."""
    return catalog.properties.get("warehouse", "") if isinstance(catalog, SqlCatalog) else ""


def is_outside_warehouse(catalog: Catalog, location: str) -> bool:
    """Whether a file or folder lies outside of an embedded catalog's warehouse."""
    return lies_outside(warehouse_of(catalog), location)


def lies_outside(warehouse: str, location: str) -> bool:
    """Whether a file or folder lies outside of a warehouse; an empty one has no outside."""
    return bool(warehouse) and not place_of(location).startswith(place_of(warehouse))


def lies_at_location(table: Table) -> bool:
    """Whether the newest document of a table's metadata lies where its location says."""
    folder, _, _ = table.metadata_location.rpartition("/")
    return place_of(folder) == place_of(table.location()) + _METADATA


def own_files(table: Table, paths: Iterable[str], others: Collection[str]) -> list[str]:
    """Those of some files that lie at the table's location and in the warehouse, and not where another table lies.

    Args:
        table: whose files are meant.
        paths: of files.
        others: places of other tables, see `lakehouse.protocol.cleanup.other_locations`.
    """
    if not lies_at_location(table) or is_outside_warehouse(table.catalog, table.location()):
        return []
    location, foreign = place_of(table.location()), tuple(others)
    return [
        path for path in sorted(paths) if place_of(path).startswith(location) and not place_of(path).startswith(foreign)
    ]
