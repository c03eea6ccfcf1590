"""Files and seconds of an append by writers, partitions, distribution mode and fanout; and of an ingest by mode."""

import itertools
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.declared import CASES
from benchmarks.lab import Lab
from benchmarks.ours import ingest_all
from benchmarks.upkeep.events import Session, append, create, events, frame
from lakehouse.declarations import Maintenance
from lakehouse.declarations.storage.file_layout import DISTRIBUTION, FANOUT
from lakehouse.declarations.storage.measured_layouts import MeasuredAppend, Mode
from lakehouse.protocol.catalog import LakeCatalog

MODES: tuple[Mode, ...] = ("none", "hash", "range")
WRITERS = (2, 8)
PARTITIONS = (4, 32, 128)
_TABLE = Path(__file__).parents[2] / "lakehouse" / "declarations" / "storage" / "measured_layouts.py"
_BEGIN = "MEASURED: tuple[Measured, ...] = ("


@dataclass(frozen=True)
class Ingested:
    """One ingest of a whole topic.

    Args:
        mode: `write.distribution-mode` of its table, which is partitioned.
        files: that came of it.
        seconds: that it took.
    """

    mode: str
    files: int
    seconds: float

    def to_dict(self) -> dict[str, object]:
        """For the file with the results."""
        return asdict(self)


def appends(catalog: LakeCatalog, session: Session, *, rows: int) -> list[MeasuredAppend]:
    """Append the same rows to tables that differ in how they are distributed; the first is for warming up."""
    measured: list[MeasuredAppend] = []
    with session() as spark:
        # Without this, Spark joins tasks that it thinks are too small, and there are fewer writers than there are said.
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        for number, (writers, partitions, mode, fanout) in enumerate(
            itertools.chain([(2, 4, "none", True)], itertools.product(WRITERS, PARTITIONS, MODES, (False, True)))
        ):
            spark.conf.set("spark.sql.shuffle.partitions", str(writers))
            properties = {DISTRIBUTION: mode, FANOUT: str(fanout).lower()}
            table = events(
                f"bench.layout_{number}", Maintenance(layout=mode), partitioning=(f"bucket({partitions}, id)",)
            )
            create(catalog, table)
            with catalog.load_table(table.identifier).transaction() as transaction:
                transaction.set_properties(properties)
            given = frame(spark, rows, writers)
            began = time.perf_counter()
            append(catalog, table.name, given)
            seconds = round(time.perf_counter() - began, 2)
            files = len(list(catalog.load_table(table.identifier).scan().plan_files()))
            if number:
                measured.append(MeasuredAppend(writers, partitions, mode, fanout, files, seconds))
            catalog.drop_table(table.identifier)
    return measured


def ingests(lab: Lab) -> list[Ingested]:
    """Ingest the lab's topic into a partitioned table, by each mode; the first is for warming up."""
    ingested: list[Ingested] = []
    for number, mode in enumerate(("none", *MODES)):
        case, namespace = CASES["one"], f"layout_{number}_{time.time_ns() // 1_000_000}"
        declared = case.declarations(namespace, lab.topic)
        name = case.tables(namespace)[""]
        table = replace(declared.tables[name], partitioning=("bucket(16, id)",), maintenance=Maintenance(layout=mode))
        declared = replace(declared, tables={**declared.tables, name: table})
        lab.create_tables(declared.tables.values())
        began = time.perf_counter()
        ingest_all(lab.settings, declared, lab.limits.commit_records)
        seconds = round(time.perf_counter() - began, 2)
        files = len(list(lab.catalog.load_table(table.identifier).scan().plan_files()))
        if number:
            ingested.append(Ingested(mode, files, seconds))
        lab.drop_namespaces([namespace])
    return ingested


def write_table(measured: Sequence[MeasuredAppend], path: Path = _TABLE) -> None:
    """Put what was measured where the choice is made from."""
    head = path.read_text().partition(_BEGIN)[0]
    rows = "".join(
        f'    Measured({run.writers}, {run.partitions}, "{run.mode}", {run.fanout}, {run.files}, {run.seconds}),\n'
        for run in measured
    )
    path.write_text(f"{head}{_BEGIN}\n{rows})\n")
