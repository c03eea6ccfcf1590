"""Where other tables of the catalog lie at a table's location: what is there is theirs, whoever names it as well.

A table may lie below another one, and its files may be named in both (`add_files`). As the one above needs such a file
no more, the one below may still read it.
"""

from collections.abc import Iterable, Iterator

from pyiceberg.table import Table

from lakehouse.iceberg.locations import place_of
from lakehouse.protocol.catalog import Entry

_DATA = "/data"
_METADATA = "metadata"


def places_of_others(entries: Iterable[Entry], table: Table) -> frozenset[str]:
    """Places of other entries of the catalog that lie at a table's location, or among whose partitions it lies.

    An entry that cannot be read lies where its newest document does; one without an address is nowhere.

    Args:
        entries: all of a catalog, see `LakeCatalog.entries`.
        table: one of them.
    """
    own_place = place_of(table.location())
    return frozenset(
        place
        for entry in entries
        if entry.identifier != table.name()
        for place in map(place_of, _folders(entry))
        if place.startswith(own_place) or _is_among_partitions(own_place, place)
    )


def _folders(entry: Entry) -> Iterator[str]:
    """Where a table writes, and where it did before it was moved: there its older documents still are."""
    yield from entry.folders
    if entry.location:
        yield entry.location
        yield entry.location.rstrip("/") + _DATA
    for document in {entry.metadata_location, *entry.versions}:
        folder, _, _ = document.rpartition("/")
        parent, _, name = folder.rpartition("/")
        if name == _METADATA:
            yield parent
            yield parent + _DATA


def _is_among_partitions(own_place: str, place: str) -> bool:
    """Whether a place is where another table, which writes to `place`, may have files of a partition (`day=1`)."""
    if not own_place.startswith(place):
        return False
    return all("=" in folder for folder in own_place.removeprefix(place).split("/") if folder)
