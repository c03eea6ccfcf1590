"""`python -m benchmarks.rules`: 60 rules on 40 columns by ours and by pandera's own PySpark backend, in turn.

Both judge the same snapshot with the same declaration, and have to name the same broken columns. Ours is asked twice:
on a table whose manifests hold bounds and counts, as all of ours do, and on one without, where every rule is scanned.
Then what needs no scan at all, on a table of many commits.
"""

import json
import statistics
import time
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pandera.pyspark as pandera
import typer
from pandera.config import config_context
from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.accounting import cpu_seconds
from benchmarks.lab import Limits, local_lab
from benchmarks.spark_system import SparkProcess
from benchmarks.wide import COLUMNS, RULES, wide_rows, wide_table
from benchmarks.zero_scan import zero_scan
from lakehouse.contracts.rules.stored import judge_snapshot
from lakehouse.declarations import apply, plan
from lakehouse.protocol.catalog import open_catalog
from lakehouse.settings import Settings

RESULTS = Path(__file__).parent / "results"
TABLES = {True: "bench.with_metrics", False: "bench.without_metrics"}
SYSTEMS = {
    "ours": "ours, as it is",
    "scanned": "ours, every rule scanned",
    "pandera": "pandera's PySpark backend",
    "cached": "pandera's PySpark backend, frame cached",
}


@dataclass(frozen=True)
class Judged:
    """One judgement by one system."""

    system: str
    round: int
    seconds: float
    cpu_seconds: float
    jobs: int
    broken: tuple[str, ...]


def answer(spark: SparkSession, settings: Settings, system: str) -> dict[str, Any]:
    """Judge the table, in the process that holds Spark."""
    group = f"{system} {time.monotonic_ns()}"
    spark.sparkContext.setJobGroup(group, group)
    if system in ("ours", "scanned"):
        broken = _by_ours(spark, settings, metrics=system == "ours")
    else:
        broken = _by_pandera(spark, settings, cached=system == "cached")
    return {"broken": sorted(broken), "jobs": len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))}


def _by_ours(spark: SparkSession, settings: Settings, *, metrics: bool) -> set[str]:
    table = open_catalog(settings.catalog).load_table(TABLES[metrics])
    snapshot = table.current_snapshot()
    assert snapshot is not None
    declared = wide_table(TABLES[metrics], metrics=metrics)
    report = judge_snapshot(declared, table, snapshot.snapshot_id, lambda: nullcontext(spark))
    return {verdict.column for verdict in report.broken}


def _by_pandera(spark: SparkSession, settings: Settings, *, cached: bool) -> set[str]:
    snapshot = open_catalog(settings.catalog).load_table(TABLES[True]).current_snapshot()
    assert snapshot is not None
    frame = spark.read.option("versionAsOf", str(snapshot.snapshot_id)).table(f"lake.{TABLES[True]}")
    schema = wide_table(TABLES[True], metrics=True).schema
    assert isinstance(schema, pandera.DataFrameSchema)
    with config_context(cache_dataframe=cached):
        failures = schema.validate(frame).pandera.errors
    return {error["column"] for kinds in failures.values() for errors in kinds.values() for error in errors}


def main(
    rows: Annotated[int, typer.Option(help="Rows of the table that is judged.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(help="Measured rounds.")] = 3,
    warm_up: Annotated[int, typer.Option(help="Rounds before, which do not count.")] = 1,
    commits: Annotated[int, typer.Option(help="Of the table that is judged without a scan.")] = 400,
    name: Annotated[str, typer.Option(help="Of the file with the results.")] = "rules",
) -> None:
    """Compare; exit 1 if the systems name different columns."""
    console = Console(stderr=True)
    runs: list[Judged] = []
    with local_lab("bench-rules", Limits()) as settings, ExitStack() as running:
        _fill(settings, rows)
        process = running.enter_context(SparkProcess("rules", settings))
        for number in range(-warm_up, rounds):
            for system in SYSTEMS:
                runs.append(run := _measure(process, system, number))
                timings = f"{run.seconds:6.2f} s {run.cpu_seconds:6.2f} CPU-s {run.jobs:4} jobs"
                console.print(
                    f"{system:8} round {number}: {timings}, {len(run.broken)} columns broken", highlight=False
                )
        without_scan = zero_scan(settings, commits)
    measured = [run for run in runs if run.round >= 0]
    figures = {system: _figures([run for run in measured if run.system == system]) for system in SYSTEMS}
    agree = len({run.broken for run in runs}) == 1
    result = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows": rows,
        "columns": COLUMNS,
        "rules": RULES,
        "figures": figures,
        "zero_scan": without_scan,
        "agree": agree,
        "runs": [asdict(run) for run in runs],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(_markdown(figures, without_scan))
    raise typer.Exit(0 if agree else 1)


def _fill(settings: Settings, rows: int) -> None:
    """The same rows with and without statistics in the manifests."""
    catalog = open_catalog(settings.catalog)
    data = wide_rows(rows)
    for metrics, name in TABLES.items():
        apply(plan(wide_table(name, metrics=metrics), catalog), catalog)
        catalog.load_table(name).append(data)


def _measure(process: SparkProcess, system: str, number: int) -> Judged:
    cpu, began = cpu_seconds(process.pid), time.monotonic()
    reply = process.ask(system=system)
    seconds, used = time.monotonic() - began, cpu_seconds(process.pid) - cpu
    return Judged(system, number, seconds, used, reply["jobs"], tuple(reply["broken"]))


def _figures(runs: list[Judged]) -> dict[str, float]:
    return {
        "seconds": statistics.median(run.seconds for run in runs),
        "cpu_seconds": statistics.median(run.cpu_seconds for run in runs),
        "jobs": statistics.median(run.jobs for run in runs),
    }


def _markdown(figures: dict[str, dict[str, float]], without_scan: dict[str, float]) -> str:
    lines = ["| rules by | seconds | as ours | CPU-seconds | as ours | jobs |", "|---|---:|---:|---:|---:|---:|"]
    ours = figures["ours"]
    for system, measured in figures.items():
        wall, cpu = (f"{measured[key] / ours[key]:.1f} ×" for key in ("seconds", "cpu_seconds"))
        lines.append(
            f"| {SYSTEMS[system]} | {measured['seconds']:.2f} | {wall} | {measured['cpu_seconds']:.2f} | {cpu} "
            f"| {measured['jobs']:.0f} |"
        )
    lines += ["", "| without a scan | ms |", "|---|---:|"]
    lines += [f"| {what} | {counts:,.1f} |" for what, counts in without_scan.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(main)
