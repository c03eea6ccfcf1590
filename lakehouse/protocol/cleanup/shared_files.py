"""Whether a table's files are its alone: another entry of the catalog may stand on the same ones (`register_table`).

Two entries of one document go on apart, and neither knows what the other still needs: to delete a file that this one
needs no more may take it from the other. So where two share anything, nothing is deleted.
"""

from collections import defaultdict
from collections.abc import Iterable

import structlog
from pyiceberg.table import Table
from pyiceberg.typedef import Identifier

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.locations import place_of
from lakehouse.iceberg.names import name_of, table_name
from lakehouse.protocol.catalog import Entry, LakeCatalog

_log = structlog.get_logger(__name__)


class FilesShared(LakehouseError):
    """Another entry of the catalog stands on files of this table, so none may be deleted."""


def require_sole(catalog: LakeCatalog, table: Table) -> None:
    """Refuse where another entry of the catalog shares a table's UUID, location or metadata.

    Raises:
        FilesShared: names the other entry, and what is shared.
    """
    if sharing := shared_with(catalog.entries(), table):
        raise FilesShared(
            f"{table_name(table)} shares {sharing}: what one of them deletes, the other may need.",
            remedy="drop one of the two entries without purging it, or write it anew elsewhere; nothing was deleted",
        )


def shared_with(entries: Iterable[Entry], table: Table) -> str:
    """What a table shares with which other entry, in words; empty if its files are its alone.

    An entry that cannot be read shares what its address tells; otherwise it keeps no other table from its turn.

    Args:
        entries: all of a catalog, see `LakeCatalog.entries`.
        table: one of them.
    """
    own_entry = _entry_of(table)
    for entry in entries:
        if entry.identifier == own_entry.identifier:
            continue
        if shared := _shared(entry, own_entry):
            return f"{shared} with {name_of(entry.identifier)}"
        if entry.unreadable:
            _log.warning("entry_not_read", table=name_of(entry.identifier), reason=entry.unreadable)
    return ""


def shared_among(entries: Iterable[Entry]) -> dict[Identifier, tuple[str, ...]]:
    """Entry → what it shares with which others, in words; entries whose files are theirs alone are left out.

    Args:
        entries: all of a catalog, see `LakeCatalog.entries`.
    """
    all_entries = list(entries)
    unread = [entry for entry in all_entries if entry.unreadable]
    entries_by_mark: dict[str, list[Entry]] = defaultdict(list)
    for entry in all_entries:
        for mark in _marks(entry):
            entries_by_mark[mark].append(entry)
    shared: dict[Identifier, dict[str, None]] = defaultdict(dict)
    for own_entry in all_entries:
        candidates = [
            *(entry for mark in _marks(own_entry) for entry in entries_by_mark[mark]),
            *(all_entries if own_entry.unreadable else unread),
        ]
        for candidate in candidates:
            if candidate.identifier != own_entry.identifier and (
                description := _shared(candidate, own_entry) or _shared(own_entry, candidate)
            ):
                shared[own_entry.identifier][f"{description} with {name_of(candidate.identifier)}"] = None
    return {identifier: tuple(descriptions) for identifier, descriptions in shared.items()}


def _marks(entry: Entry) -> set[str]:
    """What two entries that share anything have in common, but for those that nobody can read."""
    locations = (entry.location, entry.metadata_location, *entry.versions)
    return {f"uuid {entry.uuid}", *map(place_of, filter(None, locations))} - {"uuid "}


def _entry_of(table: Table) -> Entry:
    versions = {table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)}
    return Entry(
        table.name(),
        table.metadata_location,
        uuid=str(table.metadata.table_uuid),
        location=table.location(),
        versions=frozenset(versions),
    )


def _shared(entry: Entry, own_entry: Entry) -> str:
    """What one entry has that is another's, in words; empty for nothing."""
    if entry.uuid and entry.uuid == own_entry.uuid:
        return f"the UUID {entry.uuid}"
    if entry.location and own_entry.location and place_of(entry.location) == place_of(own_entry.location):
        return f"the location {entry.location}"
    common = set(map(place_of, _documents(own_entry))) & set(map(place_of, _documents(entry)))
    if common:
        return "metadata"
    if entry.unreadable and entry.metadata_location and own_entry.location:
        location = place_of(own_entry.location)
        return f"the location {own_entry.location}" if place_of(entry.metadata_location).startswith(location) else ""
    return ""


def _documents(entry: Entry) -> set[str]:
    return {*entry.versions, *filter(None, (entry.metadata_location,))}
