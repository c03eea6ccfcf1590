"""What a run wrote, told so that two systems can be compared: rows per table, and a checksum over all columns."""

from dataclasses import dataclass

import polars as pl
from pyiceberg.catalog import Catalog
from pyiceberg.table.snapshots import Snapshot

from benchmarks.declared import order_table

COLUMNS = tuple(column.name for column in order_table("bench.orders").columns)


@dataclass(frozen=True)
class Output:
    """The content of a run's tables, whatever their order and files."""

    rows: dict[str, int]
    commits: int
    checksum: str
    sums: dict[str, str]


def read_output(catalog: Catalog, tables: dict[str, str]) -> Output:
    """Read the declared columns of a run's tables, by kind."""
    rows: dict[str, int] = {}
    commits = 0
    total = 0
    sums: dict[str, str] = {}
    for kind, name in tables.items():
        table = catalog.load_table(name)
        commits += sum(1 for entry in table.metadata.snapshots if _added(entry) > 0)
        frame = pl.from_arrow(table.scan(selected_fields=COLUMNS).to_arrow().select(COLUMNS))
        assert isinstance(frame, pl.DataFrame)
        frame = frame.cast({"placed": pl.Datetime("us", "UTC")})
        rows[kind] = frame.height
        # A sum of the rows' hashes does not depend on their order, and counts a doubled row twice.
        total += sum(frame.hash_rows(seed=7).to_list())
        sums[kind] = ", ".join(str(frame[column].sum()) for column in ("id", "quantity", "paid"))
    return Output(rows=rows, commits=commits, checksum=f"{total % 2**64:016x}", sums=sums)


def _added(snapshot: Snapshot) -> int:
    return int(snapshot.summary["added-records"] or 0) if snapshot.summary else 0
