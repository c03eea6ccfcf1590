"""The embedded catalog: one SQL database that Spark's JdbcCatalog and PyIceberg share.

A commit writes a new metadata document per table, then swaps all rows in one SQL transaction, each compared with the
location that was read. Either every row moves or none.
"""

import gzip
import os
import re
import time
import uuid
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlparse

import msgspec
import structlog
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    ServiceUnavailableError,
)
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from sqlalchemy import Connection, Engine, NullPool, create_engine, event, select, tuple_, update
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from tenacity import retry_if_exception, retry_if_exception_type, retry_if_result
from typing_extensions import override

from lakehouse.iceberg.names import name_of
from lakehouse.iceberg.own_files import DELETE_OLD_METADATA, is_outside_warehouse
from lakehouse.protocol.catalog.change import LakeCatalog, Locations, TableChange
from lakehouse.protocol.catalog.document import Document, edited, parsed, require
from lakehouse.protocol.catalog.entry import Entry
from lakehouse.protocol.catalog.safe_properties import code_free
from lakehouse.protocol.errors import MetadataFileDamaged
from lakehouse.retry import OTHERS_FIRST, retrying

_log = structlog.get_logger(__name__)
_SWAP_TRIES = 12
_READ_TRIES = 5
_SCHEME = re.compile("^[A-Za-z][A-Za-z0-9+.-]*:/*|^/+")


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
        super().__init__(name, **properties)
        if self.engine.dialect.name == "sqlite":
            _until_through(self._write_ahead)
        # A connection of its own for every swap: one that failed is never handed to somebody else.
        self._swaps = _swap_engine(properties["uri"])
        self._read_entries: dict[str, Entry] = {}

    @override
    def create_tables(self) -> None:
        """Create the catalog's own tables, those that another process has not created since it was looked."""
        _until_through(super().create_tables)

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
            outdated = _beside(stored.location, _outdated(stored.document, document))
            if outdated and not self._lies_with_others(stored.location):
                _delete_metadata(self._io(stored.location), outdated)

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
        keys = [(".".join(Catalog.namespace_from(i)), Catalog.table_name_from(i)) for i in identifiers]
        columns = (IcebergTables.table_namespace, IcebergTables.table_name, IcebergTables.metadata_location)
        named = select(*columns).where(
            IcebergTables.catalog_name == self.name,
            tuple_(IcebergTables.table_namespace, IcebergTables.table_name).in_(keys),
        )
        try:
            with self.engine.connect() as connection:
                rows = connection.execute(named).all()
        except OperationalError as error:
            raise ServiceUnavailableError(f"The catalog database did not answer: {error.orig}") from error
        locations = {(namespace, name): cast("str", location) for namespace, name, location in rows}
        return Locations({i: locations[key] for i, key in zip(identifiers, keys, strict=True) if key in locations})

    @override
    def entries(self) -> Iterator[Entry]:
        for identifier, location in self._all_rows():
            if location not in self._read_entries:  # a document never changes
                try:
                    self._read_entries[location] = Entry.of(identifier, location, _read(self._io(location), location))
                except (OSError, _NoDocumentError) as error:
                    yield Entry(identifier, location, unreadable=_short_reason(error))
                    continue
            yield replace(self._read_entries[location], identifier=identifier)

    def _all_rows(self) -> list[tuple[Identifier, str]]:
        """Tables and where their metadata are, of all catalogs in the database; of others, with the catalog's name."""
        columns = (IcebergTables.catalog_name, IcebergTables.table_namespace, IcebergTables.table_name)
        try:
            with self.engine.connect() as connection:
                rows = connection.execute(select(*columns, IcebergTables.metadata_location)).all()
        except OperationalError as error:
            raise ServiceUnavailableError(f"The catalog database did not answer: {error.orig}") from error
        entries: list[tuple[Identifier, str]] = []
        for catalog, namespace, name, location in rows:
            identifier = (*Catalog.identifier_to_tuple(namespace), name)
            if location:  # a view has none
                entries.append((identifier if catalog == self.name else (f"{catalog}:", *identifier), location))
        return entries

    def _lies_with_others(self, location: str) -> bool:
        """Whether two entries have their metadata in one folder: one may need the oldest documents of the other."""
        folder = _folder(location)
        return sum(_folder(metadata_location) == folder for _, metadata_location in self._all_rows()) > 1

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
            document = edited(stored.document, stored.location, change.updates, time.time_ns() // 1_000_000)
            if is_outside_warehouse(self, stored.location):
                # They may be another lakehouse's. By the property, as Spark's commits go by it as well.
                document["properties"] = {**(document.get("properties") or {}), DELETE_OLD_METADATA: "false"}
            prepared.append((stored, document, _next_location(stored)))
        return [(stored, document) for stored, document, _ in prepared] if self._swap(prepared) else None

    def _swap(self, prepared: list[tuple[_Stored, Document, str]]) -> bool:
        self._write_all(prepared)
        swapped, busy = False, None
        try:
            with _transaction(self._swaps) as connection:
                # Sorted, so that two publishers of overlapping sets cannot wait for each other.
                swapped = all(
                    self._swap_row(connection, stored, location)
                    for stored, _, location in sorted(prepared, key=lambda item: item[0].identifier)
                )
                if not swapped:
                    connection.rollback()
        except _NotBegunError as error:
            busy = error  # before we changed anything
        except DBAPIError as error:
            # COMMIT itself may have failed after the fact: the documents stay, the caller looks again.
            raise CommitStateUnknownException(f"The catalog database did not answer: {error.orig}") from error
        if not swapped:
            self._discard(location for _, _, location in prepared)
        if busy:
            raise CommitFailedException(_not_begun(busy, self.engine)) from busy
        return swapped

    def _write_all(self, prepared: list[tuple[_Stored, Document, str]]) -> None:
        """Write all documents, or leave none of them behind: a torn one would keep orphan removal from its turn."""
        begun: list[str] = []
        try:
            for _, document, location in prepared:
                begun.append(location)
                _write(self._io(location), location, document)
        except BaseException:
            self._discard(begun)
            raise

    def _discard(self, locations: Iterable[str]) -> None:
        """Delete documents that no entry names; one that stays is an orphan, and no reason for another error."""
        for location in locations:
            with suppress(Exception):
                self._io(location).delete(location)

    def _swap_row(self, connection: Connection, stored: _Stored, location: str) -> bool:
        result = connection.execute(
            update(IcebergTables)
            .where(
                IcebergTables.catalog_name == self.name,
                IcebergTables.table_namespace == ".".join(stored.identifier[:-1]),
                IcebergTables.table_name == stored.identifier[-1],
                IcebergTables.metadata_location == stored.location,
            )
            .values(metadata_location=location, previous_metadata_location=stored.location)
        )
        return result.rowcount == 1

    def _stored(self, identifiers: Sequence[Identifier]) -> dict[Identifier, _Stored]:
        """Read documents whose locations came from one SELECT, so together they are one state of the catalog."""
        # Newer commits may delete the oldest documents while we are on the way to one: look again.
        return retrying(_READ_TRIES, retry_if_exception(_is_gone))(
            lambda: {
                identifier: self._document(identifier, location)
                for identifier, location in self._locations(identifiers).items()
            }
        )

    def _document(self, identifier: Identifier, location: str) -> _Stored:
        try:
            return _Stored(identifier, location, _read(self._io(location), location))
        except FileNotFoundError as error:
            raise MetadataFileDamaged(name_of(identifier), location) from error
        except _NoDocumentError as error:
            raise MetadataFileDamaged(name_of(identifier), location, _short_reason(error)) from error

    def _locations(self, identifiers: Sequence[Identifier]) -> dict[Identifier, str]:
        locations = dict(self.locations(identifiers).known)
        if missing := [name_of(identifier) for identifier in identifiers if identifier not in locations]:
            raise NoSuchTableError(f"Table does not exist: {', '.join(missing)}")
        return locations

    def _io(self, location: str) -> FileIO:
        return load_file_io(self.properties, location)

    @override
    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        """Storage as the catalog's settings say; what a table's properties say is not asked."""
        return load_file_io(self.properties, location)


def _until_through(prepare: Callable[[], None]) -> None:
    """Make a new database ready, which another process may be doing as well: then SQLite does not always wait."""
    retrying(_SWAP_TRIES, retry_if_exception_type(DBAPIError), longest=OTHERS_FIRST)(prepare)


def _is_gone(error: BaseException) -> bool:
    return isinstance(error, MetadataFileDamaged) and error.gone


class _NotBegunError(Exception):
    """The transaction could not start; nothing was changed."""


def _not_begun(error: _NotBegunError, engine: Engine) -> str:
    """Why nothing could be written, and what to do."""
    cause = error.__cause__
    reason = str(cause.orig) if isinstance(cause, OperationalError) else "it gave no reason"
    if "locked" not in reason:
        return f"The catalog database could not be written to: {reason}"
    return (
        f"The catalog database stayed locked by another program ({reason}). Remedy: end what keeps it locked (a SQL "
        f"shell with an open transaction, a backup; `fuser {engine.url.database}` shows which), then run it again"
    )


def _swap_engine(uri: str) -> Engine:
    engine = create_engine(uri, poolclass=NullPool)
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def _explicit_transactions(dbapi_connection: Any, _: object) -> None:  # pyright: ignore[reportUnusedFunction]
            # The driver must not begin transactions of its own: BEGIN IMMEDIATE takes the write lock before we look.
            dbapi_connection.isolation_level = None

    return engine


@contextmanager
def _transaction(engine: Engine) -> Generator[Connection]:
    with engine.connect() as connection:
        try:
            if engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                connection.begin()
        except OperationalError as error:
            raise _NotBegunError from error
        yield connection
        if connection.in_transaction():
            connection.commit()


def _next_location(stored: _Stored) -> str:
    folder, _, name = stored.location.rpartition("/")
    version = name.split("-", 1)[0]
    next_version = int(version) + 1 if version.isdigit() else len(stored.document.get("metadata-log") or []) + 1
    compressed = stored.document.get("properties", {}).get("write.metadata.compression-codec", "none") == "gzip"
    return f"{folder}/{next_version:05d}-{uuid.uuid4()}{'.gz' if compressed else ''}.metadata.json"


class _NoDocumentError(Exception):
    """What stands in a metadata file is no JSON object."""


def _read(io: FileIO, location: str) -> Document:
    with io.new_input(location).open() as stream:
        content = stream.read()
    try:
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        return msgspec.json.decode(content, type=dict[str, Any])
    except (OSError, EOFError, zlib.error, ValueError) as error:  # in memory, so `OSError` is a damaged gzip
        raise _NoDocumentError(str(error).partition("\n")[0].rstrip(".")) from error


def _short_reason(error: Exception) -> str:
    """What is wrong with a document; of storage, the kind of its error alone."""
    return str(error) if isinstance(error, _NoDocumentError) else type(error).__name__


def _write(io: FileIO, location: str, document: Document) -> None:
    content = msgspec.json.encode(document)
    if location.endswith(".gz.metadata.json"):
        content = gzip.compress(content)
    with io.new_output(location).create() as stream:
        stream.write(content)
    if location.startswith("file:"):
        # The catalog row must never survive a power cut that its document did not.
        with Path(urlparse(location).path).open("rb") as file:
            os.fsync(file.fileno())


def _outdated(previous: Document, document: Document) -> list[str]:
    """The documents that fell off the metadata log, if they may go (`write.metadata.delete-after-commit.enabled`)."""
    properties = cast("dict[str, str]", document.get("properties") or {})
    if properties.get(DELETE_OLD_METADATA, "false").lower() != "true":
        return []
    logged = {entry["metadata-file"] for entry in document["metadata-log"]}
    files = (entry["metadata-file"] for entry in previous.get("metadata-log") or [])
    return [file for file in files if file not in logged]


def _beside(location: str, files: Sequence[str]) -> list[str]:
    """Those of some files that lie where a document does: by the document's word alone, any could be an older one."""
    return [file for file in files if _folder(file) == _folder(location)]


def _delete_metadata(io: FileIO, files: Sequence[str]) -> None:
    for file in files:
        try:
            io.delete(file)
        except OSError as error:
            # The commit has landed: a document that is gone already, or may not be deleted, must not make it fail.
            _log.warning("outdated_metadata_not_deleted", file=file, reason=str(error))


def _folder(location: str) -> str:
    """The folder of a file, in whichever way its address is written."""
    return _SCHEME.sub("", location.rpartition("/")[0])
