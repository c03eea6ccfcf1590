"""`python -m benchmarks.upkeep`: a neglected table, rewrites and their proofs, and layouts."""

import json
import os
import platform
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.lab import Limits, local_lab, open_lab
from benchmarks.upkeep.layout import appends, ingests, write_table
from benchmarks.upkeep.neglected import look_after
from benchmarks.upkeep.proof import prove
from benchmarks.upkeep.rewrite import rewrite
from lakehouse.engines.spark import spark_session
from lakehouse.protocol.catalog import open_catalog

RESULTS = Path(__file__).parents[1] / "results"
PARTS = ("neglected", "rewrite", "proof", "layout", "ingest")
STRATEGIES = ("binpack", "sort", "zorder")


def main(
    parts: Annotated[str, typer.Option(help="Which, by comma.")] = ",".join(PARTS),
    files: Annotated[int, typer.Option(help="Data files of the neglected table.")] = 2_000,
    commits: Annotated[int, typer.Option(help="That it took.")] = 600,
    megabytes: Annotated[int, typer.Option(help="of the tables that are rewritten and proven.")] = 256,
    small: Annotated[int, typer.Option(help="Files that such a table lies in.")] = 64,
    rows: Annotated[int, typer.Option(help="Of one append, for layouts.")] = 2_000_000,
    records: Annotated[int, typer.Option(help="Of the topic that is ingested, for layouts.")] = 500_000,
    heap: Annotated[str, typer.Option(help="Of Spark's JVM.")] = "2g",
    name: Annotated[str, typer.Option(help="Of the file with the results.")] = "upkeep",
    keep: Annotated[bool, typer.Option(help="Put the measured layouts where the choice is made from.")] = False,
) -> None:
    """Measure; what was measured before in other parts stays in the file."""
    console, limits = Console(stderr=True), Limits(heap=heap)
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    wanted = parts.split(",")
    with local_lab("bench-upkeep", limits) as settings:
        catalog = open_catalog(settings.catalog)
        with spark_session(settings, app_name="upkeep") as spark:
            session: Callable[[], nullcontext[SparkSession]] = lambda: nullcontext(spark)  # noqa: E731
            if "neglected" in wanted:
                found["neglected"] = look_after(catalog, session, files=files, commits=commits).to_dict()
                console.print(found["neglected"])
            if "rewrite" in wanted:
                rewrite(catalog, session, "binpack", megabytes=max(megabytes // 8, 8), files=small)  # to warm up
                found["rewrite"] = [
                    rewrite(catalog, session, each, megabytes=megabytes, files=small).to_dict() for each in STRATEGIES
                ]
                console.print(found["rewrite"])
            if "proof" in wanted:
                found["proof"] = [one.to_dict() for one in prove(catalog, session, megabytes=megabytes)]
                console.print(found["proof"])
            if "layout" in wanted:
                measured = appends(catalog, session, rows=rows)
                found["layout"] = [vars(one) for one in measured]
                if keep:
                    write_table(measured)
        shutil.rmtree(settings.state.warehouse, ignore_errors=True)
    if "ingest" in wanted:
        with open_lab(records, limits, console) as lab:
            found["ingest"] = [one.to_dict() for one in ingests(lab)]
    machine = {"system": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count()}
    RESULTS.mkdir(exist_ok=True)
    told = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine, **found}
    path.write_text(json.dumps(told, indent=1) + "\n")
    print(markdown(found))


def markdown(found: dict[str, Any]) -> str:
    """Tables, as the documentation has them."""
    lines: list[str] = []
    if told := found.get("neglected"):
        lines += ["| | before | after |", "|---|---:|---:|"]
        lines += [f"| {key} | {value:,} | {told['after'][key]:,} |" for key, value in told["before"].items()]
        lines += ["", "| operation | fewer | seconds |", "|---|---:|---:|"]
        lines += [f"| {one['operation']} | {one['removed']:,} | {one['seconds']} |" for one in told["operations"]]
        lines += [""]
    if told := found.get("rewrite"):
        lines += [
            "| strategy | MB | files | MB/s/core | with proof | proof, of time | of CPU |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {one['strategy']} | {one['bytes'] / 1e6:.0f} | {one['files_out']} → {one['files_in']} | "
            f"{one['per_core']:.1f} | {one['per_core_proven']:.1f} | {one['proof_share']:.1%} | "
            f"{one['proof_cpu_share']:.1%} |"
            for one in told
        ]
    if told := found.get("proof"):
        lines += ["", "| engine | rows | seconds | CPU-seconds per million rows |", "|---|---:|---:|---:|"]
        lines += [
            f"| {one['engine']} | {one['rows']:,} | {one['seconds']} | {one['cpu_seconds_per_million_rows']} |"
            for one in told
        ]
    if told := found.get("layout"):
        lines += ["", "| writers | partitions | mode | fanout | files | seconds |", "|---:|---:|---|---|---:|---:|"]
        lines += [
            f"| {one['writers']} | {one['partitions']} | {one['mode']} | {one['fanout']} | {one['files']} | "
            f"{one['seconds']} |"
            for one in told
        ]
    if told := found.get("ingest"):
        lines += ["", "| ingest by mode | files | seconds |", "|---|---:|---:|"]
        lines += [f"| {one['mode']} | {one['files']} | {one['seconds']} |" for one in told]
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(main)
