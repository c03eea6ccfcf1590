"""What grows with every batch, looked at again and again: tables, their files, Dagster's storage; and its plot."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from matplotlib.figure import Figure
from pyiceberg.table import Table

from benchmarks.endurance.samples import disk_usage
from lakehouse.iceberg.names import name_of
from lakehouse.orchestration.resources import Lake
from lakehouse.settings.state import StateFolder

KIB = 1 << 10


@dataclass(frozen=True)
class TableSize:
    """What one table has.

    Attributes:
        snapshots: that its metadata name.
        refs: branches and tags.
        metadata_kib: of the newest metadata.json.
        files: in its folder, of data and of metadata.
    """

    snapshots: int
    refs: int
    metadata_kib: float
    files: int


@dataclass(frozen=True)
class Growth:
    """One look.

    Attributes:
        seconds: since the beginning.
        tables: name → what it has.
        runs: that Dagster has stored.
        events: of those runs.
        dagster_mib: of Dagster's home, logs included.
    """

    seconds: float
    tables: Mapping[str, TableSize]
    runs: int
    events: int
    dagster_mib: float

    @classmethod
    def of(cls, lake: Lake, seconds: float) -> "Growth":
        """Look at a lakehouse in use."""
        locations = lake.catalog.locations([table.identifier for table in lake.declarations.tables.values()])
        tables = {name_of(identifier): _size(lake.catalog.load_table(identifier)) for identifier in locations.known}
        history = StateFolder(lake.settings.state.root).dagster / "history"
        return cls(
            seconds=round(seconds),
            tables=tables,
            runs=_count(history / "runs.db", "runs"),
            events=sum(_count(file, "event_logs") for file in (history / "runs").glob("*-*.db")),
            dagster_mib=round(disk_usage(history.parent) / KIB**2, 1),
        )


def plot(taken: list[Growth], path: Path) -> None:
    """Draw each number over minutes; of tables, each is a line."""
    figure = Figure(figsize=(11, 14), layout="constrained")
    axes = figure.subplots(6, 1, sharex=True)
    minutes = [growth.seconds / 60 for growth in taken]
    for axis, attribute in zip(axes[:4], ("snapshots", "refs", "metadata_kib", "files"), strict=True):
        for name in sorted(taken[-1].tables):
            sizes = [growth.tables.get(name) for growth in taken]
            axis.plot(minutes, [getattr(size, attribute) if size else 0 for size in sizes], label=name)
        axis.set_ylabel(attribute.replace("_kib", ", KiB"))
    axes[0].legend(fontsize=7, loc="lower right")
    axes[4].plot(minutes, [growth.runs for growth in taken], label="runs")
    axes[4].plot(minutes, [growth.events / 100 for growth in taken], label="events / 100")
    axes[4].legend(fontsize=7)
    axes[4].set_ylabel("in Dagster")
    axes[5].plot(minutes, [growth.dagster_mib for growth in taken])
    axes[5].set_ylabel("Dagster's home, MiB")
    axes[5].set_xlabel("minutes")
    for axis in axes:
        axis.set_ylim(bottom=0)
    figure.savefig(path)


def _size(table: Table) -> TableSize:
    metadata, folder = (Path(urlsplit(place).path) for place in (table.metadata_location, table.location()))
    return TableSize(
        snapshots=len(table.metadata.snapshots),
        refs=len(table.metadata.refs),
        metadata_kib=round(metadata.stat().st_size / KIB, 1),
        files=sum(1 for file in folder.rglob("*") if file.is_file()),
    )


def _count(database: Path, table: str) -> int:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is None:
            return 0  # of a run that begins just now
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # ours
