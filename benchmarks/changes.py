"""`python -m benchmarks.changes`: changes into a changelog against plain JSON ingest of the same bytes.

Both are ours, with every promise on. The plain stream lands each Debezium envelope as it is: its members as columns,
the images as structs. The stream of changes normalises it: operation, key, images by name, position, time.
"""

import json
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import SparkSession
from pyspark.sql import types as t
from rich.console import Console

from benchmarks.accounting import cpu_seconds
from benchmarks.declared import Order
from benchmarks.lab import Lab, Limits, open_lab
from benchmarks.ours import ingest_all
from benchmarks.records import PARTITIONS, order
from benchmarks.spark_system import SparkProcess
from lakehouse.declarations import (
    BySource,
    Changelog,
    Column,
    Debezium,
    Declarations,
    Stream,
    Table,
    ToTable,
    quarantine_table,
)
from lakehouse.engines.kafka import Record
from lakehouse.settings import Settings

RESULTS = Path(__file__).parent / "results"
_START_MS = 1_767_225_600_000


def envelopes(count: int) -> Iterator[Record]:
    """Debezium's envelopes of orders, as PostgreSQL gives them: three inserts to five updates to two deletes."""
    for number in range(count):
        image = order(number).decode()
        key = f'{{"id":{number}}}'
        operation = "cccuuuuudd"[number % 10]
        before, after = ("null", image) if operation != "d" else (image, "null")
        ms = _START_MS + number
        lsn = 20_000_000 + number * 72
        source = (
            f'{{"version":"3.6.0.Final","connector":"postgresql","name":"shop","ts_ms":{ms},"snapshot":"false",'
            f'"db":"shop","sequence":"[\\"{lsn - 56}\\",\\"{lsn}\\"]","ts_us":{ms}000,"ts_ns":{ms}000000,'
            f'"schema":"public","table":"orders","txId":{number // 7},"lsn":{lsn},"xmin":null}}'
        )
        value = (
            f'{{"before":{before},"after":{after},"source":{source},"transaction":null,"op":"{operation}",'
            f'"ts_ms":{ms + 400},"ts_us":{ms + 400}000,"ts_ns":{ms + 400}000000}}'
        )
        yield Record(value=value.encode(), key=key.encode(), partition=number % PARTITIONS)


def _plain_table(name: str) -> Table:
    image = t.StructType(
        [t.StructField(c.name, c.type) for c in Table(name=name, schema=Order, description="-", owner="-").own_columns]
    )
    source = t.StructType(
        [
            t.StructField("sequence", t.StringType()),
            t.StructField("schema", t.StringType()),
            t.StructField("table", t.StringType()),
            t.StructField("connector", t.StringType()),
            t.StructField("txId", t.LongType()),
            t.StructField("lsn", t.LongType()),
            t.StructField("ts_us", t.LongType()),
        ]
    )
    columns = (
        Column("op", t.StringType(), required=True),
        Column("before", image, required=False),
        Column("after", image, required=False),
        Column("source", source, required=True),
        Column("ts_ms", t.LongType(), required=False),
    )
    return Table(name=name, schema=columns, description="Envelopes as they are.", owner="benchmark")


def declarations(kind: str, namespace: str, topic: str) -> Declarations:
    """A stream of changes, or a plain one."""
    if kind == "changes":
        log = Changelog(
            name=f"{namespace}.changelog",
            topic=topic,
            row=Order,
            key=("id",),
            description="Orders of the benchmark.",
            owner="benchmark",
            format=Debezium(),
        )
        table, changelogs = log.table, {log.name: log}
        stream = Stream(
            name=namespace,
            topic=topic,
            route=BySource({None: log.name}),
            format=log.format,
            quarantine=f"{namespace}.quarantine",
        )
    else:
        table, changelogs = _plain_table(f"{namespace}.envelopes").with_coordinates(), {}
        stream = Stream(name=namespace, topic=topic, route=ToTable(table.name), quarantine=f"{namespace}.quarantine")
    declared = [table, quarantine_table(stream, "benchmark")]
    return Declarations(
        tables={each.name: each for each in declared},
        streams={stream.name: stream},
        files=dict.fromkeys([stream.name, *(each.name for each in declared)], Path(__file__)),
        changelogs=changelogs,
    )


def answer(_: SparkSession, settings: Settings, kind: str, namespace: str, topic: str, commit_records: int) -> None:
    """Ingest the whole topic."""
    ingest_all(settings, declarations(kind, namespace, topic), commit_records)


def main(
    records: Annotated[int, typer.Option(help="How many changes.")] = 1_000_000,
    rounds: Annotated[int, typer.Option(help="Measured rounds.")] = 3,
    warm_up: Annotated[int, typer.Option(help="Rounds before, which do not count.")] = 1,
) -> None:
    """Compare; exit 1 if either lost a message."""
    console = Console(stderr=True)
    limits = Limits()
    per_cpu: dict[str, list[float]] = {"plain": [], "changes": []}
    wrong: list[str] = []
    with open_lab(records, limits, console, name="envelopes", make=envelopes) as lab, ExitStack() as running:
        process = running.enter_context(SparkProcess("changes", lab.settings))
        for number in range(-warm_up, rounds):
            for kind, rates in per_cpu.items():
                rate, landed = _measure(lab, process, kind, records)
                console.print(
                    f"{kind:8} round {number}: {rate:10,.0f} per CPU-second, {landed:,} rows", highlight=False
                )
                if number >= 0:
                    rates.append(rate)
                if landed != records:
                    wrong.append(f"{kind}, round {number}: {landed} of {records}")
    plain, changes = (statistics.median(per_cpu[kind]) for kind in ("plain", "changes"))
    result = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "records": records,
        "per_cpu_second": per_cpu,
        "ratio": changes / plain,
        "wrong": wrong,
    }
    (RESULTS / "changes.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"| plain JSON ingest | {plain:,.0f} per CPU-second | |")
    print(f"| changelog | {changes:,.0f} per CPU-second | {changes / plain:.2f} × |")
    raise typer.Exit(1 if wrong else 0)


def _measure(lab: Lab, process: SparkProcess, kind: str, records: int) -> tuple[float, int]:
    namespace = f"{kind}_{time.time_ns() // 1_000_000}"
    declared = declarations(kind, namespace, lab.topic)
    lab.create_tables(declared.tables.values())
    cpu = cpu_seconds(process.pid)
    process.ask(kind=kind, namespace=namespace, topic=lab.topic, commit_records=lab.limits.commit_records)
    used = cpu_seconds(process.pid) - cpu
    (name,) = (name for name in declared.tables if not name.endswith("quarantine"))
    snapshot = lab.catalog.load_table(name).current_snapshot()
    landed = int((snapshot.summary["total-records"] if snapshot and snapshot.summary else None) or 0)
    lab.drop_namespaces([namespace])
    return records / used, landed


if __name__ == "__main__":
    typer.run(main)
