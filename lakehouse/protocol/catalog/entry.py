"""A table of a catalog as its document tells it, also one that PyIceberg cannot read: to tell whose files are whose."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyiceberg.typedef import Identifier

from lakehouse.iceberg.locations import PATH_PROPERTIES


@dataclass(frozen=True)
class Entry:
    """One entry of a catalog.

    Args:
        identifier: of the table.
        metadata_location: of its document; empty where nobody could say.
        uuid: of the table; empty where the document cannot be read.
        location: of the table; likewise.
        versions: all documents that it names: the newest, and those of its metadata log.
        folders: where else it has its files written, by its properties.
        format_version: of the table; 0 where the document does not say so.
        unreadable: why its document cannot be read; empty if it was.
    """

    identifier: Identifier
    metadata_location: str
    uuid: str = ""
    location: str = ""
    versions: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    format_version: int = 0
    unreadable: str = ""

    @classmethod
    def of(cls, identifier: Identifier, metadata_location: str, document: Mapping[str, Any]) -> "Entry":
        """What a document says."""
        versions = {str(entry["metadata-file"]) for entry in document.get("metadata-log") or ()}
        properties = document.get("properties") or {}
        return cls(
            identifier,
            metadata_location,
            uuid=str(document.get("table-uuid") or ""),
            location=str(document.get("location") or ""),
            versions=frozenset({metadata_location, *versions}),
            folders=tuple(str(properties[key]) for key in PATH_PROPERTIES if properties.get(key)),
            format_version=version if isinstance(version := document.get("format-version"), int) else 0,
        )
