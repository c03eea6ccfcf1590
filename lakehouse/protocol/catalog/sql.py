"""The embedded catalog: one SQL database that Spark's JdbcCatalog and PyIceberg share.

A commit writes a new metadata document per table, then swaps all rows in one SQL transaction, each compared with the
location that was read. Either every row moves or none.
"""

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import structlog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
)
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError
from tenacity import retry_if_exception, retry_if_exception_type, retry_if_result
from typing_extensions import override

from lakehouse.iceberg.durable_files import sync_files
from lakehouse.iceberg.names import name_of
from lakehouse.iceberg.own_files import DELETE_OLD_METADATA, is_outside_warehouse
from lakehouse.protocol.catalog.change import LakeCatalog, Locations, TableChange
from lakehouse.protocol.catalog.clock import require_clock
from lakehouse.protocol.catalog.document import Document, edited, parsed, require
from lakehouse.protocol.catalog.entry import Entry
from lakehouse.protocol.catalog.metadata_files import (
    MetadataFiles,
    NoDocumentError,
    folder_of,
    next_location,
    outdated_files,
    short_reason,
)
from lakehouse.protocol.catalog.safe_properties import code_free
from lakehouse.protocol.catalog.sql_database import CatalogDatabase, NotBegunError, RowSwap, settle
from lakehouse.protocol.catalog.sqlite_file import LOCKED_SECONDS, catalog_locked, is_locked, require_usable
from lakehouse.protocol.errors import ClockSkew, MetadataFileDamaged
from lakehouse.retry import OTHERS_FIRST, retrying

_log = structlog.get_logger(__name__)
_SWAP_TRIES = 12
_READ_TRIES = 5


@dataclass(frozen=True)
class _Stored:
    """A metadata document as it was read."""

    identifier: Identifier
    location: str
    document: Document


class SqlLakeCatalog(SqlCatalog, LakeCatalog):  # pyright: ignore[reportIncompatibleMethodOverride]
    """PyIceberg's SQL catalog with commits over several tables and a metadata document that keeps every field."""

    reads_whole_commits = True

    def __init__(self, name: str, **properties: str) -> None:
        require_usable(properties["uri"], properties.get("warehouse", ""))
        super().__init__(name, **properties)
        if self.engine.dialect.name == "sqlite":
            _until_through(self._write_ahead, properties["uri"])
        self._database = CatalogDatabase(self.engine, properties["uri"], name)
        self._metadata_files = MetadataFiles(self.properties)
        self._read_entries: dict[str, Entry] = {}
        # Also when the process ends: nothing else closes what the pool keeps.
        weakref.finalize(self, settle, self.engine)

    @override
    def close(self) -> None:
        """Close the database; a later question opens it again."""
        settle(self.engine)

    @override
    def create_tables(self) -> None:
        """Create the catalog's own tables, those that another process has not created since it was looked."""
        _until_through(super().create_tables, self.properties["uri"])

    def _write_ahead(self) -> None:
        with self.engine.connect() as connection:
            # A reader must not block a publish, nor a failed publish everybody: write-ahead log, once and for all.
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")

    @override
    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        try:
            super().create_namespace(namespace, properties)
        except IntegrityError as error:  # PyIceberg has looked, and another was quicker since
            if not self.namespace_exists(namespace):
                raise
            raise NamespaceAlreadyExistsError(f"Namespace {namespace} already exists") from error

    @override
    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        identifier = table.name()
        try:
            self._commit([TableChange(identifier, requirements, updates)])
        except NoSuchTableError:  # a table about to be created: PyIceberg's own way loses nothing yet
            return super().commit_table(table, requirements, updates)
        stored = self._stored([identifier])[identifier]
        return CommitTableResponse.model_validate(
            {"metadata": code_free(parsed(stored.document)), "metadata-location": stored.location}
        )

    @override
    def commit_tables(self, changes: Sequence[TableChange]) -> None:
        for stored, document in self._commit(changes):
            outdated = outdated_files(stored.location, stored.document, document)
            if outdated and not self._lies_with_others(stored.location):
                self._metadata_files.delete_outdated(outdated, stored.location)

    @override
    def load_table(self, identifier: str | Identifier) -> Table:
        identifier = self.identifier_to_tuple(identifier)
        return self.load_tables([identifier])[identifier]

    @override
    def load_tables(self, identifiers: Sequence[Identifier]) -> dict[Identifier, Table]:
        return {
            identifier: Table(
                identifier=identifier,
                metadata=(metadata := code_free(parsed(stored.document))),
                metadata_location=stored.location,
                io=self._load_file_io(metadata.properties, stored.location),
                catalog=self,
            )
            for identifier, stored in self._stored(identifiers).items()
        }

    @override
    def locations(self, identifiers: Sequence[Identifier]) -> Locations:
        return Locations(self._database.locations(identifiers))

    @override
    def entries(self) -> Iterator[Entry]:
        for identifier, location in self._database.all_locations():
            if location not in self._read_entries:  # a document never changes
                try:
                    self._read_entries[location] = Entry.of(identifier, location, self._metadata_files.read(location))
                except (OSError, NoDocumentError) as error:
                    yield Entry(identifier, location, unreadable=short_reason(error))
                    continue
            yield replace(self._read_entries[location], identifier=identifier)

    def _lies_with_others(self, location: str) -> bool:
        """Whether two entries have their metadata in one folder: one may need the oldest documents of the other."""
        folders = [folder_of(metadata_location) for _, metadata_location in self._database.all_locations()]
        return folders.count(folder_of(location)) > 1

    @override
    def purge_table(self, identifier: str | Identifier) -> None:
        """Drop a table and delete its files, unless they lie outside of the warehouse."""
        table = self.load_table(identifier)
        if is_outside_warehouse(self, table.metadata_location):
            self.drop_table(identifier)
            _log.warning("files_elsewhere_kept", table=name_of(table.name()), location=table.location())
        else:
            super().purge_table(identifier)

    @override
    def _delete_old_metadata(self, io: FileIO, base: TableMetadata, metadata: TableMetadata) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        outdated = {entry.metadata_file for entry in base.metadata_log} - {
            entry.metadata_file for entry in metadata.metadata_log
        }
        if not outdated or any(is_outside_warehouse(self, file) for file in outdated):
            return
        if not self._lies_with_others(min(outdated)):
            super()._delete_old_metadata(io, base, metadata)

    def _commit(self, changes: Sequence[TableChange]) -> list[tuple[_Stored, Document]]:
        """Swap all tables; retried while only unrelated commits are in the way."""
        others_first = retry_if_result(lambda swapped: swapped is None)
        swapped = retrying(_SWAP_TRIES, others_first, longest=OTHERS_FIRST)(self._edit_and_swap, changes)
        if swapped is None:
            names = ", ".join(name_of(change.identifier) for change in changes)
            raise CommitFailedException(f"{names}: other commits came first {_SWAP_TRIES} times in a row")
        return swapped

    def _edit_and_swap(self, changes: Sequence[TableChange]) -> list[tuple[_Stored, Document]] | None:
        """Documents before and after; None where another commit came first."""
        current = self._stored([change.identifier for change in changes])
        prepared: list[tuple[_Stored, Document, str]] = []
        for change in changes:
            stored = current[change.identifier]
            require(stored.document, change.requirements)
            if not change.updates:
                prepared.append((stored, stored.document, stored.location))
                continue
            document = edited(stored.document, stored.location, change.updates, time.time_ns() // 1_000_000)
            if is_outside_warehouse(self, stored.location):
                # They may be another lakehouse's. By the property, as Spark's commits go by it as well.
                document["properties"] = {**(document.get("properties") or {}), DELETE_OLD_METADATA: "false"}
            prepared.append((stored, document, next_location(stored.location, stored.document)))
        if not self._swap(prepared):
            return None
        return [(stored, document) for stored, document, location in prepared if location != stored.location]

    def _swap(self, prepared: list[tuple[_Stored, Document, str]]) -> bool:
        written = {location: document for stored, document, location in prepared if location != stored.location}
        began_ms = time.time_ns() // 1_000_000
        self._metadata_files.write_all(written)
        try:
            for stored, _, location in prepared:
                if location in written:
                    require_clock(self._load_file_io(location=location), location, began_ms, name_of(stored.identifier))
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

    def _stored(self, identifiers: Sequence[Identifier]) -> dict[Identifier, _Stored]:
        """Read documents whose locations came from one SELECT, so together they are one state of the catalog."""
        # Newer commits may delete the oldest documents while we are on the way to one: look again.
        return retrying(_READ_TRIES, retry_if_exception(_is_gone))(
            lambda: {
                identifier: _Stored(identifier, location, self._metadata_files.read_for(identifier, location))
                for identifier, location in self._locations(identifiers).items()
            }
        )

    def _locations(self, identifiers: Sequence[Identifier]) -> dict[Identifier, str]:
        locations = dict(self.locations(identifiers).known)
        if missing := [name_of(identifier) for identifier in identifiers if identifier not in locations]:
            raise NoSuchTableError(f"Table does not exist: {', '.join(missing)}")
        for identifier, location in locations.items():
            if not location:
                raise MetadataFileDamaged(name_of(identifier), "")
        return locations

    @override
    @staticmethod
    def _write_metadata(metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
        """Write the first document of a table; its folder may be as new as the warehouse."""
        SqlCatalog._write_metadata(metadata, io, metadata_path)  # noqa: SLF001 - PyIceberg gives no other way
        sync_files([metadata_path])

    @override
    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        """Storage as the catalog's settings say; what a table's properties say is not asked."""
        return load_file_io(self.properties, location)


def _until_through(prepare: Callable[[], None], uri: str) -> None:
    """Make a new database ready, which another process may be doing as well: then SQLite does not always wait."""
    failed = retry_if_exception_type(DBAPIError)
    try:
        retrying(_SWAP_TRIES, failed, longest=OTHERS_FIRST, within=LOCKED_SECONDS)(prepare)
    except DBAPIError as error:
        if error.orig is None or not is_locked(error.orig):
            raise
        raise catalog_locked(make_url(uri).database, error.orig) from error


def _is_gone(error: BaseException) -> bool:
    return isinstance(error, MetadataFileDamaged) and error.gone
