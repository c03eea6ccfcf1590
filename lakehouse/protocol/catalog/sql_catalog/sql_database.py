"""The database of the embedded catalog: a row for each table, that says where its newest metadata document is."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVarTuple, cast

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables
from pyiceberg.exceptions import ServiceUnavailableError
from pyiceberg.typedef import Identifier
from sqlalchemy import (
    Connection,
    Engine,
    NullPool,
    Row,
    Select,
    bindparam,
    create_engine,
    event,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import DBAPIError, OperationalError

from lakehouse.iceberg.durable_files import local_path, sync_files
from lakehouse.protocol.catalog.sql_catalog.sqlite_file import catalog_locked

_NORMAL = 1  # of SQLite's `synchronous`: a power cut takes the last commits

_Columns = TypeVarTuple("_Columns")
# Once for all: to compose a statement takes four times as long as to ask it.
_NAMED = select(IcebergTables.table_namespace, IcebergTables.table_name, IcebergTables.metadata_location).where(
    IcebergTables.catalog_name == bindparam("catalog"),
    tuple_(IcebergTables.table_namespace, IcebergTables.table_name).in_(bindparam("keys", expanding=True)),
)


class NotBegunError(Exception):
    """A transaction could not start; nothing was changed."""


class RowSwap(NamedTuple):
    """The row of a table goes from one document to the next, if it still names the first; to the same one, it stays."""

    identifier: Identifier
    previous: str
    location: str


class CatalogDatabase:
    """Rows of one catalog.

    Args:
        engine: for what is only read.
        uri: of the same database, for what is written.
        name: of the catalog; several may share the database.
    """

    def __init__(self, engine: Engine, uri: str, name: str) -> None:
        self._engine = engine
        self._swaps = _unpooled_engine(uri)
        self._name = name
        self._synced: frozenset[str] = frozenset()
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _sync_commits)
            engine.dispose()  # a connection that is open already commits as SQLite was built to

    def locations(self, identifiers: Sequence[Identifier]) -> dict[Identifier, str]:
        """Where the metadata of these tables are, by one SELECT: one state of the catalog. Absent tables are left out.

        Raises:
            ServiceUnavailableError: the database does not answer.
        """
        keys = [(".".join(Catalog.namespace_from(i)), Catalog.table_name_from(i)) for i in identifiers]
        rows = self._select(_NAMED, {"catalog": self._name, "keys": keys})
        locations = {(namespace, name): cast("str", location) for namespace, name, location in rows}
        return {i: locations[key] for i, key in zip(identifiers, keys, strict=True) if key in locations}

    def all_locations(self) -> list[tuple[Identifier, str]]:
        """Tables and where their metadata are, of all catalogs in the database; of others, with the catalog's name.

        Raises:
            ServiceUnavailableError: the database does not answer.
        """
        columns = (IcebergTables.catalog_name, IcebergTables.table_namespace, IcebergTables.table_name)
        rows: list[tuple[Identifier, str]] = []
        for catalog, namespace, name, location in self._select(select(*columns, IcebergTables.metadata_location)):
            identifier = (*Catalog.identifier_to_tuple(namespace), name)
            if location:  # a view has none
                rows.append((identifier if catalog == self._name else (f"{catalog}:", *identifier), location))
        return rows

    def _select(
        self, statement: Select[*_Columns], parameters: Mapping[str, object] | None = None
    ) -> Sequence[Row[*_Columns]]:
        try:
            with self._engine.connect() as connection:
                return connection.execute(statement, parameters).all()
        except OperationalError as error:
            raise ServiceUnavailableError(f"The catalog database did not answer: {error.orig}") from error

    def swap(self, rows: Sequence[RowSwap]) -> bool:
        """Swap all rows in one transaction, or none where one of them names another document by now.

        Raises:
            NotBegunError: another program holds the database, or it cannot be written to; what to do is said.
            DBAPIError: whether it was committed is not known.
            OSError: the disk refuses a document that a row names; nothing was changed.
        """
        with _transaction(self._swaps) as connection:
            # Sorted, so that two publishers of overlapping sets cannot wait for each other.
            swapped = all(self._swap_row(connection, row) for row in sorted(rows))
            if swapped:
                self._sync_documents(connection, {row.location for row in rows})
            else:
                connection.rollback()
        return swapped

    def _sync_documents(self, connection: Connection, own: Iterable[str]) -> None:
        """Put on the disk what the rows of other programs name, as our COMMIT puts those rows there.

        Spark syncs no document. Its commits are not synced either (`lakehouse.engines.spark.catalog`), until ours are.

        Args:
            connection: within the transaction, so that no other program commits meanwhile.
            own: documents that are on the disk.
        """
        if connection.dialect.name != "sqlite":
            return
        rows = connection.execute(select(IcebergTables.metadata_location)).scalars()
        named = frozenset(location for location in rows if location)  # a view has none
        unsynced = named - self._synced - frozenset(own)
        # One that is gone is the business of whoever loads its table.
        present = [location for location in unsynced if (path := local_path(location)) and path.exists()]
        sync_files(present, tops=[location.rpartition("/")[0] for location in present])
        self._synced = named

    def _swap_row(self, connection: Connection, row: RowSwap) -> bool:
        values = {"metadata_location": row.location}
        if row.location != row.previous:
            values["previous_metadata_location"] = row.previous
        result = connection.execute(
            update(IcebergTables)
            .where(
                IcebergTables.catalog_name == self._name,
                IcebergTables.table_namespace == ".".join(row.identifier[:-1]),
                IcebergTables.table_name == row.identifier[-1],
                IcebergTables.metadata_location == row.previous,
            )
            .values(values)
        )
        return result.rowcount == 1


def _unpooled_engine(uri: str) -> Engine:
    """A connection of its own for every swap: one that failed is never handed to somebody else."""
    engine = create_engine(uri, poolclass=NullPool)
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def _explicit_transactions(dbapi_connection: Any, _: object) -> None:  # pyright: ignore[reportUnusedFunction]
            # The driver must not begin transactions of its own: BEGIN IMMEDIATE takes the write lock before we look.
            dbapi_connection.isolation_level = None

        event.listen(engine, "connect", _sync_commits)
    return engine


def settle(engine: Engine) -> None:
    """Close a database, with all that is in SQLite's write-ahead log in the file itself: a copy of that is whole.

    SQLite does so when the last connection is closed, and the last is often one of Spark's, which nobody closes.
    """
    if engine.dialect.name == "sqlite" and (path := engine.url.database) and Path(path).is_file():
        with suppress(DBAPIError), engine.connect() as connection:  # read-only, or gone with its folder: as it is
            connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")  # waits for nobody
    engine.dispose()


def _sync_commits(dbapi_connection: Any, _: object) -> None:
    """A commit is on the disk when it returns, also where SQLite was built to wait for checkpoints alone."""
    if dbapi_connection.execute("PRAGMA synchronous").fetchone()[0] == _NORMAL:
        dbapi_connection.execute("PRAGMA synchronous=FULL")


@contextmanager
def _transaction(engine: Engine) -> Generator[Connection]:
    with engine.connect() as connection:
        try:
            _begin(connection)
        except OperationalError as error:
            raise NotBegunError(_not_begun(str(error.orig), engine)) from error
        yield connection
        if connection.in_transaction():
            connection.commit()


def _begin(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        connection.begin()


def _not_begun(reason: str, engine: Engine) -> str:
    """Why nothing could be written, and what to do."""
    if "locked" not in reason:
        return f"The catalog database could not be written to: {reason}"
    return str(catalog_locked(engine.url.database, reason))
