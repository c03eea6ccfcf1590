"""`python -m benchmarks.mirror`: both systems in turn, batch after batch, clustered and scattered."""

import json
import platform
import shutil
import statistics
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.accounting import cpu_seconds
from benchmarks.lab import Limits, local_lab
from benchmarks.mirror.orders import COLUMNS
from benchmarks.spark_system import SparkProcess
from lakehouse.settings import Settings

_READS = 3
RESULTS = Path(__file__).parents[1] / "results"
SYSTEMS = ("ours", "samples")
KINDS = ("clustered", "scattered")
SIZES = (100, 10_000, 100_000)


@dataclass(frozen=True)
class Merge:
    """One batch, merged by one system."""

    kind: str
    size: int
    system: str
    number: int
    seconds: float
    cpu_seconds: float
    written: int
    changed: int
    read_seconds: float
    read_cpu_seconds: float
    checksum: str
    plan: str


class Contender:
    """A system, its process and its tables."""

    def __init__(self, name: str, process: SparkProcess, reader: SparkProcess, settings: Settings) -> None:
        self.name = name
        self._process = process
        self._reader = reader
        self._settings = settings

    def build(self, kind: str, size: int, rows: int) -> None:
        """Make tables with the first rows; not counted."""
        self._process.ask(do="build", namespace=self._namespace(kind, size), rows=rows)
        self._row_bytes = self._bytes(kind, size) / rows

    def merge(self, kind: str, size: int, number: int, rows: int) -> Merge:
        """Take in a batch that touches so many keys (not counted), merge it, and read the whole mirror."""
        namespace = self._namespace(kind, size)
        batch = {"kind": kind, "number": number, "rows": rows, "share": size / rows}
        self._process.ask(do="changes", namespace=namespace, **batch)
        before, cpu, began = self._bytes(kind, size), cpu_seconds(self._process.pid), time.monotonic()
        answer = self._process.ask(do="merge", namespace=namespace, **batch)
        seconds, used = time.monotonic() - began, cpu_seconds(self._process.pid) - cpu
        written = self._bytes(kind, size) - before
        cpu = cpu_seconds(self._reader.pid)
        reads = [self._reader.ask(table=f"lake.{namespace}.mirror", columns=COLUMNS) for _ in range(_READS)]
        read_cpu = (cpu_seconds(self._reader.pid) - cpu) / _READS
        return Merge(
            kind=kind,
            size=size,
            system=self.name,
            number=number,
            seconds=seconds,
            cpu_seconds=used,
            written=written,
            changed=round(size * self._row_bytes),
            read_seconds=min(read["seconds"] for read in reads),
            read_cpu_seconds=read_cpu,
            checksum=f"{reads[0]['rows']} rows {reads[0]['checksum']}",
            plan=answer.get("plan", ""),
        )

    def _namespace(self, kind: str, size: int) -> str:
        return f"mirror_{self.name}_{kind}_{size}"

    def _bytes(self, kind: str, size: int) -> int:
        """Bytes of data and delete files of everything but the changelog, which both have."""
        home = self._settings.state.warehouse / self._namespace(kind, size)
        return sum(
            file.stat().st_size
            for table in home.iterdir()
            if table.name != "changelog"
            for file in table.rglob("*.parquet")
        )


def main(
    rows: Annotated[int, typer.Option(help="Rows of the mirror.")] = 2_000_000,
    sizes: Annotated[list[int] | None, typer.Option("--size", help="Keys that a batch touches.")] = None,
    rounds: Annotated[int, typer.Option(help="Measured batches.")] = 3,
    warm_up: Annotated[int, typer.Option(help="Batches before, which do not count.")] = 1,
    heap: Annotated[str, typer.Option(help="Of each system's JVM.")] = "2g",
    name: Annotated[str, typer.Option(help="Of the file with the results.")] = "mirror",
) -> None:
    """Compare; exit 1 if the mirrors differ."""
    console = Console(stderr=True)
    merges: list[Merge] = []
    batches = [(kind, size) for kind in KINDS for size in sizes or SIZES]
    with local_lab("bench-mirror", Limits(heap=heap)) as settings, ExitStack() as running:
        reader = running.enter_context(SparkProcess("mirror.reader", settings))
        contenders = [
            Contender(each, running.enter_context(SparkProcess(f"mirror.{each}", settings)), reader, settings)
            for each in SYSTEMS
        ]
        for kind, size in batches:
            for contender in contenders:
                contender.build(kind, size, rows)
            for number in range(1, warm_up + rounds + 1):
                for contender in contenders:
                    merge = contender.merge(kind, size, number, rows)
                    console.print(_line(merge), highlight=False)
                    merges.append(merge)
        shutil.rmtree(settings.state.warehouse)
        settings.state.catalog_db.unlink()
    different = [
        f"{kind}, {size} keys, batch {number}"
        for kind, size in batches
        for number in range(1, warm_up + rounds + 1)
        if len({m.checksum for m in merges if (m.kind, m.size, m.number) == (kind, size, number)}) > 1
    ]
    counted = [merge for merge in merges if merge.number > warm_up]
    result = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"system": platform.platform(), "python": platform.python_version()},
        "rows": rows,
        "sizes": sizes or SIZES,
        "disagreements": different,
        "merges": [asdict(merge) for merge in merges],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(markdown(counted))
    for each in different:
        console.print(f"[red]mirrors differ: {each}")
    raise typer.Exit(1 if different else 0)


def markdown(merges: list[Merge]) -> str:
    """Medians, and theirs as a multiple of ours."""
    names = {"ours": "ours", "samples": "aws-samples' form"}
    lines = [
        "| batch | keys | system | bytes written per byte changed | CPU-seconds | full read afterwards | CPU of it |",
        "|---|---:|---|---:|---:|---:|---:|",
    ]
    for kind, size in dict.fromkeys((merge.kind, merge.size) for merge in merges):
        batch = [merge for merge in merges if (merge.kind, merge.size) == (kind, size)]
        ours = [merge for merge in batch if merge.system == "ours"]
        for system in SYSTEMS:
            theirs = [merge for merge in batch if merge.system == system]
            cells: list[str] = []
            for measure in (_amplification, _cpu, _read, _read_cpu):
                value, base = (statistics.median(map(measure, each)) for each in (theirs, ours))
                cells.append(f"{value:.2f}" if system == "ours" else f"{value:.2f} ({value / base:.2f} ×)")
            lines.append(f"| {kind} | {size:,} | {names[system]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _amplification(merge: Merge) -> float:
    return merge.written / merge.changed


def _cpu(merge: Merge) -> float:
    return merge.cpu_seconds


def _read(merge: Merge) -> float:
    return merge.read_seconds


def _read_cpu(merge: Merge) -> float:
    return merge.read_cpu_seconds


def _line(merge: Merge) -> str:
    return (
        f"{merge.kind:9} {merge.size:7,} {merge.system:7} batch {merge.number}  {merge.seconds:6.2f} s  "
        f"{merge.cpu_seconds:6.2f} CPU-s  {merge.written / 1e6:7.2f} MB written  "
        f"read {merge.read_seconds:5.2f} s, {merge.read_cpu_seconds:5.2f} CPU-s  {merge.checksum}  {merge.plan[:200]}"
    )


if __name__ == "__main__":
    typer.run(main)
