"""Commits of the embedded catalog, over several tables: the newest documents, edited, written, and swapped together.

The next version of each document is written beside it, and nobody sees it yet. Then all rows go from the document that
was read to the next in one SQL transaction, or none where another commit came first.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException, NoSuchTableError
from pyiceberg.typedef import Identifier
from sqlalchemy.exc import DBAPIError
from tenacity import retry_if_exception, retry_if_result

from lakehouse.iceberg.names import name_of
from lakehouse.iceberg.own_files import DELETE_OLD_METADATA, lies_outside
from lakehouse.protocol.catalog.change import TableChange
from lakehouse.protocol.catalog.clock import require_clock
from lakehouse.protocol.catalog.document import Document, edited, require
from lakehouse.protocol.catalog.metadata_files import MetadataFiles, next_location
from lakehouse.protocol.catalog.sql_catalog.sql_database import CatalogDatabase, NotBegunError, RowSwap
from lakehouse.protocol.errors import ClockSkew, MetadataFileDamaged
from lakehouse.retry import OTHERS_FIRST, retrying

_SWAP_TRIES = 12
_READ_TRIES = 5


@dataclass(frozen=True)
class StoredDocument:
    """A metadata document as it was read."""

    identifier: Identifier
    location: str
    document: Document


class SqlCommits:
    """Reads and changes the newest documents of a catalog's tables.

    Args:
        database: of the catalog.
        metadata_files: its documents.
        warehouse: folder of its tables.
    """

    def __init__(self, database: CatalogDatabase, metadata_files: MetadataFiles, warehouse: str) -> None:
        self._database, self._metadata_files, self._warehouse = database, metadata_files, warehouse

    def commit(self, changes: Sequence[TableChange]) -> list[tuple[StoredDocument, Document]]:
        """Swap all tables; retried while only unrelated commits are in the way."""
        others_first = retry_if_result(lambda swapped: swapped is None)
        swapped = retrying(_SWAP_TRIES, others_first, longest=OTHERS_FIRST)(self._edit_and_swap, changes)
        if swapped is None:
            names = ", ".join(name_of(change.identifier) for change in changes)
            raise CommitFailedException(f"{names}: other commits came first {_SWAP_TRIES} times in a row")
        return swapped

    def _edit_and_swap(self, changes: Sequence[TableChange]) -> list[tuple[StoredDocument, Document]] | None:
        """Documents before and after; None where another commit came first."""
        current = self.stored([change.identifier for change in changes])
        prepared: list[tuple[StoredDocument, Document, str]] = []
        for change in changes:
            stored = current[change.identifier]
            require(stored.document, change.requirements)
            if not change.updates:
                prepared.append((stored, stored.document, stored.location))
                continue
            document = edited(stored.document, stored.location, change.updates, time.time_ns() // 1_000_000)
            if lies_outside(self._warehouse, stored.location):
                # They may be another lakehouse's. By the property, as Spark's commits go by it as well.
                document["properties"] = {**(document.get("properties") or {}), DELETE_OLD_METADATA: "false"}
            prepared.append((stored, document, next_location(stored.location, stored.document)))
        if not self._swap(prepared):
            return None
        return [(stored, document) for stored, document, location in prepared if location != stored.location]

    def _swap(self, prepared: list[tuple[StoredDocument, Document, str]]) -> bool:
        written = {location: document for stored, document, location in prepared if location != stored.location}
        began_ms = time.time_ns() // 1_000_000
        self._metadata_files.write_all(written)
        try:
            for stored, _, location in prepared:
                if location in written:
                    require_clock(self._metadata_files.io(location), location, began_ms, name_of(stored.identifier))
                    break
        except ClockSkew:
            self._metadata_files.discard(written)
            raise
        swapped, not_begun = False, None
        try:
            swapped = self._database.swap([RowSwap(s.identifier, s.location, location) for s, _, location in prepared])
        except NotBegunError as error:
            not_begun = error  # before we changed anything
        except OSError:
            self._metadata_files.discard(written)
            raise
        except DBAPIError as error:
            # COMMIT itself may have failed after the fact: the documents stay, the caller looks again.
            raise CommitStateUnknownException(f"The catalog database did not answer: {error.orig}") from error
        if not swapped:
            self._metadata_files.discard(written)
        if not_begun:
            raise CommitFailedException(str(not_begun)) from not_begun
        return swapped

    def stored(self, identifiers: Sequence[Identifier]) -> dict[Identifier, StoredDocument]:
        """Read documents whose locations came from one SELECT, so together they are one state of the catalog."""
        # Newer commits may delete the oldest documents while we are on the way to one: look again.
        return retrying(_READ_TRIES, retry_if_exception(_is_gone))(
            lambda: {
                identifier: StoredDocument(identifier, location, self._metadata_files.read_for(identifier, location))
                for identifier, location in self._locations(identifiers).items()
            }
        )

    def _locations(self, identifiers: Sequence[Identifier]) -> dict[Identifier, str]:
        locations = self._database.locations(identifiers)
        if missing := [name_of(identifier) for identifier in identifiers if identifier not in locations]:
            raise NoSuchTableError(f"Table does not exist: {', '.join(missing)}")
        for identifier, location in locations.items():
            if not location:
                raise MetadataFileDamaged(name_of(identifier), "")
        return locations


def _is_gone(error: BaseException) -> bool:
    return isinstance(error, MetadataFileDamaged) and error.gone
