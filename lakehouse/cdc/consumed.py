"""What a mirror has consumed: the changes of its changelog up to the sealed end, and what it began with."""

from collections.abc import Iterator

import polars as pl
from pyiceberg.exceptions import NoSuchTableError

from lakehouse.catalog import LakeCatalog
from lakehouse.cdc.changes import Types, column_types, read_changes, read_initial
from lakehouse.cdc.evidence import Evidence
from lakehouse.cdc.frames import equal, frames, offsets_between
from lakehouse.cdc.statement import MirrorStatement
from lakehouse.commit import Pinned
from lakehouse.errors import LakehouseError
from lakehouse.tables import MirrorTables

_REFUSED = {"_topic": pl.String, "_partition": pl.Int64, "_offset": pl.Int64, "_reason": pl.String}


class CannotFold(LakehouseError):
    """What would be needed to fold the changelog again is not there any more."""


class Consumed:
    """Reads it, piece by piece."""

    def __init__(
        self,
        catalog: LakeCatalog,
        tables: MirrorTables,
        seen: Evidence,
        statement: MirrorStatement,
        key: Types,
        columns: Types,
    ) -> None:
        """Of a mirror's tables as they were loaded, up to a statement's end.

        Args:
            catalog: where an initial copy is.
            tables: the mirror as declared.
            seen: its tables.
            statement: up to where.
            key: the key's columns as the mirror types them.
            columns: all of the source's columns, likewise.
        """
        self._catalog, self._tables, self._seen = catalog, tables, seen
        self._statement, self._key, self._columns = statement, key, columns

    @property
    def begin(self) -> str:
        """Where the fold begins, in words."""
        initial = f"{self._statement.initial} and " if self._statement.initial else ""
        return f"{initial}the changelog's first row"

    def operations(self) -> dict[str, int]:
        """Operation → changes that `changes` should give, by the seals."""
        return {name: number for name, number in self._statement.total_operations.items() if number}

    def state(self) -> Iterator[pl.DataFrame]:
        """What was there before the changes, as changes.

        Raises:
            CannotFold: the initial copy is gone.
        """
        if not self._statement.initial:
            return iter(())
        name, _, snapshot = self._statement.initial.rpartition("@")
        try:
            table = self._catalog.load_table(tuple(name.split(".")))
        except NoSuchTableError:
            table = None
        if table is None or table.metadata.snapshot_by_id(int(snapshot)) is None:
            raise CannotFold(
                f"{self._tables.mirror.name} began with {self._statement.initial}, which is not there any more.",
                remedy="make a checkpoint while the initial rows are still there, or rebuild the mirror",
            )
        image = column_types(self._seen.changelog.table)["after"]
        assert isinstance(image, pl.Struct)
        return read_initial(table, int(snapshot), self._key, image)

    def changes(self) -> Iterator[pl.DataFrame]:
        """The changes themselves, the refused ones included.

        Raises:
            CannotFold: the changelog is another table than the one that was consumed.
        """
        log, statement = self._seen.changelog.table, self._statement
        if str(log.metadata.table_uuid) != statement.changelog_uuid:
            raise CannotFold(
                f"{statement.changelog} is another table than the one that {self._tables.mirror.name} was made from.",
                remedy=f"`lakehouse rebuild {self._tables.mirror.name} --yes`",
            )
        if log.metadata.snapshot_by_id(statement.end) is not None:
            return read_changes(log, statement.end, self._key, self._columns)
        # That snapshot has left the table's list; by their offsets its rows are known.
        until = offsets_between(None, statement.kafka_end)
        return read_changes(log, self._seen.changelog.snapshot_id, self._key, self._columns, until)

    def refused(self) -> pl.DataFrame:
        """Places of the changes that this build of the mirror refused, and why."""
        return refused_places(self._seen.quarantine, self._statement.build)


def refused_places(quarantine: Pinned, build: str) -> pl.DataFrame:
    """Topic, partition and offset of the changes that a build of a mirror refused, and why."""
    columns = ("topic", "partition", "offset", "reason")
    pieces = [
        piece.select(
            pl.col(column).cast(kind).alias(name)
            for column, (name, kind) in zip(columns, _REFUSED.items(), strict=True)
        )
        for piece in frames(quarantine.table, quarantine.snapshot_id, (*columns, "build"), equal("build", build))
    ]
    return pl.concat([pl.DataFrame(schema=_REFUSED), *pieces]).unique(list(_REFUSED)[:3])
