"""What the proof of a rewrite costs: both engines, on the same files."""

import os
import time
from dataclasses import asdict, dataclass

from benchmarks.accounting import cpu_seconds
from benchmarks.upkeep.events import Session, append, create, events, frame, rows_in
from lakehouse.declarations import Maintenance
from lakehouse.iceberg.content_hash.row_hash import content
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.verify import spark_hash

NAME = "bench.proven"


@dataclass(frozen=True)
class Proven:
    """One side of a proof: the content of all files of a table.

    Args:
        engine: polars in this process, or Spark.
        rows: that were read.
        bytes: of the files.
        seconds: it took.
        cpu_seconds: the same of all processes.
    """

    engine: str
    rows: int
    bytes: int
    seconds: float
    cpu_seconds: float

    def to_dict(self) -> dict[str, object]:
        """For the file with the results."""
        return {**asdict(self), "cpu_seconds_per_million_rows": round(self.cpu_seconds * 1e6 / self.rows, 3)}


def prove(catalog: LakeCatalog, session: Session, *, megabytes: int) -> list[Proven]:
    """Digest the same table by both engines, the second time each."""
    create(catalog, events(NAME, Maintenance()))
    proven: list[Proven] = []
    with session() as spark:
        append(catalog, NAME, frame(spark, rows_in(megabytes), 8))
        table = catalog.load_table(tuple(NAME.split(".")))
        files = [task.file for task in table.scan().plan_files()]
        head = head_of(table)
        assert head is not None
        asked = {
            "polars": lambda: content(table, files),
            "spark": lambda: spark_hash.content(spark, table, head, files, row_ids=False),
        }
        for engine, ask in asked.items():
            for _ in range(2):
                cpu, began = cpu_seconds(os.getpid()), time.perf_counter()
                rows = sum(digest.rows for digest in ask().values())
                seconds, used = time.perf_counter() - began, cpu_seconds(os.getpid()) - cpu
            size = sum(file.file_size_in_bytes for file in files)
            proven.append(Proven(engine, rows, size, round(seconds, 3), round(used, 2)))
    catalog.drop_table(NAME)
    return proven
