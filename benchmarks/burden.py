"""What a table carries after months of use: pins of runs, tags of releases, many partitions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyiceberg.table.update import AssertTableUUID

from lakehouse.declarations import Declarations, Table
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, set_tag
from lakehouse.steps.derived.inputs.pins import Pin
from lakehouse.steps.release.names import new_id, tag_of

ROWS_OF_A_PARTITION = 10


@dataclass(frozen=True)
class Burden:
    """How much of it.

    Attributes:
        pins: how many of the first commits are pinned by a run that goes on.
        releases: how many of them are released, evenly spread.
        partitions: how many the first commit of all writes; 0 leaves the table without.
    """

    pins: int = 0
    releases: int = 0
    partitions: int = 0

    @property
    def first_records(self) -> int:
        """How many records fill the partitions."""
        return self.partitions * ROWS_OF_A_PARTITION

    def declare(self, declarations: Declarations) -> Declarations:
        """The same tables, in partitions."""
        if not self.partitions:
            return declarations
        tables = {name: self._in_partitions(table) for name, table in declarations.tables.items()}
        return replace(declarations, tables=tables)

    def tag(self, catalog: LakeCatalog, snapshots: Mapping[str, int], number: int) -> None:
        """Do to tables, after a commit of this number, what a run that reads them and a release do."""
        if number >= self.pins:
            return
        tags = [Pin(f"run {number}", number).tag]
        if self.releases and number % max(1, self.pins // self.releases) == 0:
            tags.append(tag_of(new_id("benchmark", str(number))))
        changes: list[TableChange] = []
        for name, snapshot_id in snapshots.items():
            table = catalog.load_table(name)
            requirements = (AssertTableUUID(uuid=table.metadata.table_uuid), *(ref_is(tag, None) for tag in tags))
            changes.append(TableChange(table.name(), requirements, tuple(set_tag(tag, snapshot_id) for tag in tags)))
        catalog.commit_tables(changes)

    def _in_partitions(self, table: Table) -> Table:
        if all(column.name != "id" for column in table.columns):
            return table  # the quarantine
        return replace(table, partitioning=(f"truncate({ROWS_OF_A_PARTITION}, id)",))
