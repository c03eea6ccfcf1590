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
    document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    wanted = parts.split(",")
    with local_lab("bench-upkeep", limits) as settings:
        catalog = open_catalog(settings.catalog)
        with spark_session(settings, app_name="upkeep") as spark:
            session: Callable[[], nullcontext[SparkSession]] = lambda: nullcontext(spark)  # noqa: E731
            if "neglected" in wanted:
                document["neglected"] = look_after(catalog, session, files=files, commits=commits).to_dict()
                console.print(document["neglected"])
            if "rewrite" in wanted:
                rewrite(catalog, session, "binpack", megabytes=max(megabytes // 8, 8), files=small)  # to warm up
                document["rewrite"] = [
                    rewrite(catalog, session, each, megabytes=megabytes, files=small).to_dict() for each in STRATEGIES
                ]
                console.print(document["rewrite"])
            if "proof" in wanted:
                document["proof"] = [proof.to_dict() for proof in prove(catalog, session, megabytes=megabytes)]
                console.print(document["proof"])
            if "layout" in wanted:
                measured = appends(catalog, session, rows=rows)
                document["layout"] = [vars(append) for append in measured]
                if keep:
                    write_table(measured)
        shutil.rmtree(settings.state.warehouse, ignore_errors=True)
    if "ingest" in wanted:
        with open_lab(records, limits, console) as lab:
            document["ingest"] = [ingest.to_dict() for ingest in ingests(lab)]
    machine = {"system": platform.platform(), "python": platform.python_version(), "cores": os.cpu_count()}
    RESULTS.mkdir(exist_ok=True)
    report = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine, **document}
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(markdown(document))


def markdown(document: dict[str, Any]) -> str:
    """Tables, as the documentation has them."""
    lines: list[str] = []
    if part := document.get("neglected"):
        lines += ["| | before | after |", "|---|---:|---:|"]
        lines += [f"| {key} | {value:,} | {part['after'][key]:,} |" for key, value in part["before"].items()]
        lines += ["", "| operation | fewer | seconds |", "|---|---:|---:|"]
        lines += [f"| {row['operation']} | {row['removed']:,} | {row['seconds']} |" for row in part["operations"]]
        lines += [""]
    if part := document.get("rewrite"):
        lines += [
            "| strategy | MB | files | MB/s/core | with proof | proof, of time | of CPU |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {row['strategy']} | {row['bytes'] / 1e6:.0f} | {row['files_out']} → {row['files_in']} | "
            f"{row['per_core']:.1f} | {row['per_core_proven']:.1f} | {row['proof_share']:.1%} | "
            f"{row['proof_cpu_share']:.1%} |"
            for row in part
        ]
    if part := document.get("proof"):
        lines += ["", "| engine | rows | seconds | CPU-seconds per million rows |", "|---|---:|---:|---:|"]
        lines += [
            f"| {row['engine']} | {row['rows']:,} | {row['seconds']} | {row['cpu_seconds_per_million_rows']} |"
            for row in part
        ]
    if part := document.get("layout"):
        lines += ["", "| writers | partitions | mode | fanout | files | seconds |", "|---:|---:|---|---|---:|---:|"]
        lines += [
            f"| {row['writers']} | {row['partitions']} | {row['mode']} | {row['fanout']} | {row['files']} | "
            f"{row['seconds']} |"
            for row in part
        ]
    if part := document.get("ingest"):
        lines += ["", "| ingest by mode | files | seconds |", "|---|---:|---:|"]
        lines += [f"| {row['mode']} | {row['files']} | {row['seconds']} |" for row in part]
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(main)
