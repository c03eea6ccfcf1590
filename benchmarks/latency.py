"""`python -m benchmarks.latency`: does the thousandth commit take longer than the first, with the defaults we ship?

With `--pins`, `--releases` or `--partitions` a second table that carries these gets commits in turn with the first.

Every commit is a whole ingest of a few records: plan, stage, seal, audit, publish of a table and its quarantine. Only
Spark is left out: the workers' code runs in this process, and the time it takes is not counted, so that nothing hides
what grows with the table's history.
"""

import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast
from unittest import mock

import msgspec
import pyarrow as pa
import typer
from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.burden import Burden
from benchmarks.declared import CASES
from benchmarks.lab import Lab, Limits, open_lab
from benchmarks.records import PARTITIONS, order
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.read import readable
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.step import ingest
from lakehouse.steps.ingest.workers.added_reports import add_up
from lakehouse.steps.ingest.workers.task_report import TaskReport
from lakehouse.steps.ingest.workers.work import IngestWork, make_task

RESULTS = Path(__file__).parent / "results"
PER_COMMIT = 12
_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())]))


@dataclass
class _HereInsteadOfSpark:
    """Runs the workers' code in this process, on records made in place of read ones, and takes the time."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def __call__(self, _: SparkSession, __: KafkaSettings, work: IngestWork, **___: int) -> WriteResult:
        began, used = time.monotonic(), time.process_time()
        batches = iter([_records(work.plan.ranges)])
        rows = [row for batch in make_task(work, set()).run(batches) for row in batch.to_pylist()]
        reports = [msgspec.msgpack.decode(row["report"], type=TaskReport, strict=False) for row in rows]
        landed = add_up(work, set(), reports)
        self.seconds, self.cpu_seconds = time.monotonic() - began, time.process_time() - used
        return landed


def main(
    commits: Annotated[int, typer.Option(help="How many.")] = 1000,
    window: Annotated[int, typer.Option(help="How many of the first and of the last are compared.")] = 50,
    pins: Annotated[int, typer.Option(help="So many first commits stay pinned by runs.")] = 0,
    releases: Annotated[int, typer.Option(help="So many of them are released.")] = 0,
    partitions: Annotated[int, typer.Option(help="Of the table, filled by its first commit.")] = 0,
) -> None:
    """Measure, and write the result."""
    console, burden = Console(stderr=True), Burden(pins, releases, partitions)
    here, count = _HereInsteadOfSpark(), commits * PER_COMMIT + burden.first_records
    with open_lab(count, Limits(), console) as lab, mock.patch.object(readable, "read_and_write", here):
        plain = _commits(lab, commits, Burden(), here, console)
        if burden == Burden():
            _report(list(plain), window)
        else:
            both = list(zip(plain, _commits(lab, commits, burden, here, console), strict=True))
            _compare([pair[0] for pair in both], [pair[1] for pair in both], window, burden)


def _report(seconds: Sequence[tuple[float, float]], window: int) -> None:
    commits = len(seconds)
    first, last = (_medians(part) for part in (seconds[:window], seconds[-window:]))
    result: dict[str, Any] = {
        "commits": commits,
        "window": window,
        "first_ms": first,
        "last_ms": last,
        "ratio": [round(after / before, 3) for before, after in zip(first, last, strict=True)],
        "ms": [[round(1000 * each, 1) for each in both] for both in seconds],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latency.json").write_text(json.dumps(result) + "\n")
    print("| commits | median | | CPU of this process, median | |\n|---|---:|---:|---:|---:|")
    print(f"| 1–{window} | {first[0]:.0f} ms | | {first[1]:.0f} ms | |")
    ratios = [f"{each:.2f} ×" for each in result["ratio"]]
    print(f"| {commits - window + 1}–{commits} | {last[0]:.0f} ms | {ratios[0]} | {last[1]:.0f} ms | {ratios[1]} |")


def _compare(
    plain: Sequence[tuple[float, float]], burdened: Sequence[tuple[float, float]], window: int, burden: Burden
) -> None:
    """The last commits of both tables."""
    light, heavy = _medians(plain[-window:]), _medians(burdened[-window:])
    ratio = [round(after / before, 3) for before, after in zip(light, heavy, strict=True)]
    result = {"commits": len(plain), "window": window, **asdict(burden), "plain_ms": light, "burdened_ms": heavy}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "latency_burdened.json").write_text(json.dumps(result | {"ratio": ratio}) + "\n")
    print(f"{burden}, commits {len(plain) - window + 1}–{len(plain)}: {heavy[0]:.0f} ms, {heavy[1]:.0f} ms of CPU")
    print(f"without: {light[0]:.0f} ms, {light[1]:.0f} ms of CPU; that is {ratio[0]:.2f} × and {ratio[1]:.2f} ×")


def _medians(part: Sequence[tuple[float, float]]) -> list[float]:
    """Milliseconds on the clock, and of CPU time."""
    return [round(1000 * statistics.median(each), 1) for each in zip(*part, strict=True)]


def _commits(
    lab: Lab, commits: int, burden: Burden, here: _HereInsteadOfSpark, console: Console
) -> Iterator[tuple[float, float]]:
    """Seconds on the clock and of CPU time for each commit."""
    namespace = f"latency_{time.time_ns() // 1_000_000}"
    declarations = burden.declare(CASES["one"].declarations(namespace, lab.topic))
    lab.create_tables(declarations.tables.values())
    (stream,) = declarations.streams.values()
    for number in range(commits):
        records = PER_COMMIT if number else PER_COMMIT + burden.first_records
        limits = lab.settings.ingest.model_copy(update={"max_records_per_run": records})
        step = IngestStep(
            stream=stream,
            declarations=declarations,
            catalog=lab.catalog,
            kafka=lab.settings.kafka,
            limits=limits,
            session=lambda: cast("AbstractContextManager[SparkSession]", nullcontext()),
            attempt=Attempt(run_id=f"{namespace}-{number}", step=stream.name),
            inform=lambda _: None,
        )
        began, used = time.monotonic(), time.process_time()
        report = ingest(step)
        assert report.published is not None
        seconds = time.monotonic() - began - here.seconds
        cpu = time.process_time() - used - here.cpu_seconds
        burden.tag(lab.catalog, report.published.snapshots, number)
        if number % 50 == 49:
            console.print(f"commit {number + 1}: {1000 * seconds:.0f} ms, {1000 * cpu:.0f} ms CPU")
        yield seconds, cpu
    lab.drop_namespaces([namespace])


def _records(ranges: Mapping[int, tuple[int, int]]) -> pa.RecordBatch:
    """What Spark would hand over for these ranges."""
    places = [(partition, offset) for partition, (start, end) in ranges.items() for offset in range(start, end)]
    columns: dict[str, Any] = {
        "key": pa.nulls(len(places), pa.binary()),
        "value": pa.array([order(offset * PARTITIONS + partition) for partition, offset in places], pa.binary()),
        "headers": pa.nulls(len(places), _HEADERS),
        "partition": pa.array([partition for partition, _ in places], pa.int32()),
        "offset": pa.array([offset for _, offset in places], pa.int64()),
        "timestamp": pa.array([1_767_225_600_000_000] * len(places), pa.timestamp("us", "UTC")),
    }
    return pa.RecordBatch.from_pydict(columns)


if __name__ == "__main__":
    typer.run(main)
