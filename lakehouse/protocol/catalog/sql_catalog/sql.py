"""The embedded catalog: one SQL database that Spark's JdbcCatalog and PyIceberg share.

What PyIceberg's own lacks: commits over several tables, documents that keep every field, and files of nobody else.
"""

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import structlog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, NoSuchTableError
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError, IntegrityError
from tenacity import retry_if_exception_type
from typing_extensions import override

from lakehouse.iceberg.durable_files import sync_files
from lakehouse.iceberg.names import name_of
from lakehouse.iceberg.own_files import is_outside_warehouse, warehouse_of
from lakehouse.protocol.catalog.change import LakeCatalog, Locations, TableChange
from lakehouse.protocol.catalog.document import parsed
from lakehouse.protocol.catalog.entry import Entry
from lakehouse.protocol.catalog.metadata_files import (
    MetadataFiles,
    NoDocumentError,
    folder_of,
    outdated_files,
    short_reason,
)
from lakehouse.protocol.catalog.rest_catalog.safe_properties import code_free
from lakehouse.protocol.catalog.sql_catalog.sql_commits import SqlCommits, StoredDocument
from lakehouse.protocol.catalog.sql_catalog.sql_database import CatalogDatabase, settle
from lakehouse.protocol.catalog.sql_catalog.sqlite_file import LOCKED_SECONDS, catalog_locked, is_locked, require_usable
from lakehouse.retry import OTHERS_FIRST, retrying

_log = structlog.get_logger(__name__)
_PREPARE_TRIES = 12


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
        self._commits = SqlCommits(self._database, self._metadata_files, warehouse_of(self))
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
            self._commits.commit([TableChange(identifier, requirements, updates)])
        except NoSuchTableError:  # a table about to be created: PyIceberg's own way loses nothing yet
            return super().commit_table(table, requirements, updates)
        stored = self._commits.stored([identifier])[identifier]
        return CommitTableResponse.model_validate(
            {"metadata": code_free(parsed(stored.document)), "metadata-location": stored.location}
        )

    @override
    def commit_tables(self, changes: Sequence[TableChange]) -> None:
        for stored, document in self._commits.commit(changes):
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
                metadata=(metadata := code_free(self._model(stored))),
                metadata_location=stored.location,
                io=self._load_file_io(metadata.properties, stored.location),
                catalog=self,
            )
            for identifier, stored in self._commits.stored(identifiers).items()
        }

    def _model(self, stored: StoredDocument) -> TableMetadata:
        return self._metadata_files.metadata_of(stored.identifier, stored.location, stored.document)

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
        retrying(_PREPARE_TRIES, failed, longest=OTHERS_FIRST, within=LOCKED_SECONDS)(prepare)
    except DBAPIError as error:
        if error.orig is None or not is_locked(error.orig):
            raise
        raise catalog_locked(make_url(uri).database, error.orig) from error
