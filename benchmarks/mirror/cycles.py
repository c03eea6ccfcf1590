"""`python -m benchmarks.mirror.cycles`: what a cycle of few changes costs, over several mirrors in one warm session."""

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.accounting import cpu_seconds
from benchmarks.lab import Limits, local_lab
from benchmarks.spark_system import SparkProcess

ALLOWANCE = 64 * 1024
"""Bytes that a mirror may write in a cycle beside twice what changed."""


@dataclass(frozen=True)
class Cycle:
    """All mirrors, once.

    Attributes:
        cpu_seconds: of Python and the JVM.
        seconds: on the clock.
        written: bytes of data and delete files, of the mirror that wrote most.
        bound: bytes that this mirror may have written.
    """

    cpu_seconds: float
    seconds: float
    written: int
    bound: int


def main(
    mirrors: Annotated[int, typer.Option(help="Mirrors that are due at a tick.")] = 4,
    rows: Annotated[int, typer.Option(help="Rows of each.")] = 20_000,
    size: Annotated[int, typer.Option(help="Keys that a cycle touches in each.")] = 100,
    cycles: Annotated[int, typer.Option(help="Cycles; the last ten count.")] = 40,
) -> None:
    """Run cycles, and print the median of the last ten."""
    console = Console(stderr=True)
    measured: list[Cycle] = []
    with local_lab("bench-cycles", Limits()) as settings, SparkProcess("mirror.ours", settings) as spark:
        names = [f"cycles_{number}" for number in range(mirrors)]
        homes = {name: settings.state.warehouse / name / "mirror" for name in names}
        for name in names:
            spark.ask(do="build", namespace=name, rows=rows)
        row_bytes = max(map(_bytes, homes.values())) / rows
        for number in range(1, cycles + 1):
            batch = {"kind": "scattered", "number": number, "rows": rows, "share": size / rows}
            for name in names:
                spark.ask(do="changes", namespace=name, **batch)
            before = {name: _bytes(home) for name, home in homes.items()}
            cpu, began = cpu_seconds(spark.pid), time.monotonic()
            for name in names:
                spark.ask(do="merge", namespace=name, **batch)
            used, seconds = cpu_seconds(spark.pid) - cpu, time.monotonic() - began
            written = max(_bytes(home) - before[name] for name, home in homes.items())
            cycle = Cycle(used, seconds, written, ALLOWANCE + round(2 * size * row_bytes))
            measured.append(cycle)
            console.print(
                f"cycle {number:3}  {used:6.2f} CPU-s  {seconds:6.2f} s  {written:,} bytes of {cycle.bound:,}",
                highlight=False,
            )
    last = measured[-10:]
    typer.echo(
        f"{mirrors} mirrors, {size} changes each: {statistics.median(c.cpu_seconds for c in last):.1f} CPU-seconds, "
        f"{statistics.median(c.seconds for c in last):.1f} s; at most {max(c.written for c in last):,} bytes "
        f"a mirror of {last[0].bound:,}"
    )


def _bytes(home: Path) -> int:
    return sum(file.stat().st_size for file in home.rglob("*.parquet"))


if __name__ == "__main__":
    typer.run(main)
