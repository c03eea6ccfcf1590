"""Whether a table's files are its alone: another entry of the catalog may stand on the same ones (`register_table`).

Two entries of one document go on apart, and neither knows what the other still needs: to delete a file that this one
needs no more may take it from the other. So where two share anything, nothing is deleted.
"""

import structlog
from pyiceberg.table import Table

from lakehouse.catalog import Entry, LakeCatalog
from lakehouse.commit.place import place_of
from lakehouse.errors import LakehouseError

_log = structlog.get_logger(__name__)


class FilesShared(LakehouseError):
    """Another entry of the catalog stands on files of this table, so none may be deleted."""


def require_sole(catalog: LakeCatalog, table: Table) -> None:
    """Refuse where another entry of the catalog shares a table's UUID, location or metadata.

    Raises:
        FilesShared: names the other entry, and what is shared.
    """
    if other := shared_with(catalog, table):
        raise FilesShared(
            f"{'.'.join(table.name())} shares {other}: what one of them deletes, the other may need.",
            remedy="drop one of the two entries without purging it, or write it anew elsewhere; nothing was deleted",
        )


def shared_with(catalog: LakeCatalog, table: Table) -> str:
    """What a table shares with which other entry, in words; empty if its files are its alone.

    An entry that cannot be read shares what its address tells; otherwise it keeps no other table from its turn.
    """
    for entry in catalog.entries():
        if entry.identifier == table.name():
            continue
        if shared := _shared(entry, table):
            return f"{shared} with {'.'.join(entry.identifier)}"
        if entry.unreadable:
            _log.warning("entry_not_read", table=".".join(entry.identifier), reason=entry.unreadable)
    return ""


def _shared(entry: Entry, table: Table) -> str:
    own = place_of(table.location())
    if entry.uuid and entry.uuid == str(table.metadata.table_uuid):
        return f"the UUID {entry.uuid}"
    if entry.location and place_of(entry.location) == own:
        return f"the location {entry.location}"
    versions = {table.metadata_location, *(one.metadata_file for one in table.metadata.metadata_log)}
    common = set(map(place_of, versions)) & set(map(place_of, entry.versions))
    if common:
        return "metadata"
    if entry.unreadable and entry.metadata_location and place_of(entry.metadata_location).startswith(own):
        return f"the location {table.location()}"
    return ""
