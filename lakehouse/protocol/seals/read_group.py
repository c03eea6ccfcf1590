"""Reads several tables as they were at one moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from pyiceberg.table import DataScan, Table

from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.history import Sealed, head_of, seals
from lakehouse.protocol.seals.load_group import load_together


@dataclass(frozen=True)
class Pinned:
    """One table of a group, held at the snapshot that belongs to the others'."""

    table: Table
    snapshot_id: int | None

    @property
    def sealed(self) -> Sealed | None:
        """The newest seal at or before the pinned snapshot.

        Raises:
            SealBroken: it was changed after it was written.
        """
        return next(seals(self.table, self.snapshot_id), None)

    @property
    def why_behind(self) -> str:
        """What can have set this table alone behind those that it is written with, as its catalog commits."""
        catalog = cast("LakeCatalog", self.table.catalog)
        alone = "it was rolled back alone"
        return (
            alone
            if catalog.commits_together
            else f"{alone}, or a publish stopped before it, which the next run completes"
        )

    def scan(self, *columns: str) -> DataScan:
        """A PyIceberg scan of the pinned snapshot."""
        return self.table.scan(snapshot_id=self.snapshot_id, selected_fields=columns or ("*",))


def read_group(catalog: LakeCatalog, names: Sequence[str]) -> dict[str, Pinned]:
    """Pin every table at its `main` of one common moment.

    Args:
        catalog: where the tables live.
        names: `namespace.table` each.

    Raises:
        NoSuchTableError: a table does not exist.
        ReadsNeverSettled: on a REST catalog, the tables changed during every attempt.
    """
    return {name: Pinned(table, head_of(table)) for name, table in load_together(catalog, names).items()}
