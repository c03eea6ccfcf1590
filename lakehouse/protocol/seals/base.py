"""Where a step begins: one load of each target's metadata, never two."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Identifier

from lakehouse.iceberg.names import name_of
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.history import Sealed, ancestry, has_rows, head_of, is_rewrite, last_seal
from lakehouse.protocol.seals.load_group import load_together


@dataclass(frozen=True)
class Base:
    """One table as a step found it. Position and snapshot come from the same document."""

    identifier: Identifier
    uuid: str
    snapshot_id: int | None
    schema_id: int
    sealed: Sealed | None
    has_rows: bool
    table: Table

    @property
    def name(self) -> str:
        """`namespace.table`."""
        return name_of(self.identifier)

    @property
    def unsealed(self) -> list[Snapshot]:
        """Commits after the newest seal that are no rewrites: nobody said what they are."""
        commits: list[Snapshot] = []
        for snapshot in ancestry(self.table, self.snapshot_id):
            if self.sealed and snapshot.snapshot_id == self.sealed.snapshot_id:
                return commits
            if not is_rewrite(snapshot):
                commits.append(snapshot)
        return commits

    @classmethod
    def of(cls, table: Table) -> "Base":
        """Take a loaded table as base.

        Raises:
            SealBroken: the newest seal was changed.
        """
        return cls(
            identifier=table.name(),
            uuid=str(table.metadata.table_uuid),
            snapshot_id=head_of(table),
            schema_id=table.metadata.current_schema_id,
            sealed=last_seal(table),
            has_rows=has_rows(table, head_of(table)),
            table=table,
        )


def read_bases(catalog: LakeCatalog, names: Sequence[str]) -> dict[str, Base]:
    """Load the targets of a step together, each once.

    Raises:
        NoSuchTableError: a table does not exist.
        SealBroken: a table's newest seal was changed.
    """
    return {name: Base.of(table) for name, table in load_together(catalog, names).items()}
