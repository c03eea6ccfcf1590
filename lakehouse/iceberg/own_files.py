"""Which files a table may delete: what lies where the table lies, and nothing that its metadata merely names.

Whoever may write to a table decides which paths its manifests, statistics and branches name: files of other tables
(`add_files`), or any other. So a file goes only from below the table's location, and not from where another table lies
there. The location is a word of the same people, who may say that it is the root of everything: it is believed where
the newest document of the metadata lies in its folder `metadata`, as every writer lays it, unless `write.metadata.path`
says otherwise.
"""

from collections.abc import Collection, Iterable

from pyiceberg.table import Table

from lakehouse.iceberg.locations import place_of

_METADATA = "metadata/"


def lies_at_location(table: Table) -> bool:
    """Whether the newest document of a table's metadata lies where its location says."""
    folder, _, _ = table.metadata_location.rpartition("/")
    return place_of(folder) == place_of(table.location()) + _METADATA


def own_files(table: Table, paths: Iterable[str], others: Collection[str]) -> list[str]:
    """Those of some files that lie at the table's location, and not where another table lies.

    Args:
        table: whose files are meant.
        paths: of files.
        others: places of other tables, see `lakehouse.protocol.cleanup.other_places`.
    """
    if not lies_at_location(table):
        return []
    location, foreign = place_of(table.location()), tuple(others)
    return [
        path for path in sorted(paths) if place_of(path).startswith(location) and not place_of(path).startswith(foreign)
    ]
