"""`python -m benchmarks.endurance.day`: a day of batches in an hour of `lakehouse dev`, and what grows with them.

A topic that gets records every five minutes has 288 batches a day. What goes by age (snapshots after days, runs of
Dagster after a week) does not go in an hour; what goes by number, and what goes with its run, has to be flat.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.endurance.growth import Growth, plot
from benchmarks.endurance.lakehouse import DevLakehouse
from benchmarks.endurance.samples import Samples
from benchmarks.endurance.source import Source
from lakehouse.orchestration.resources import Lake
from lakehouse.settings import load_settings

RESULTS = Path(__file__).parents[1] / "results"
_KEYS = 20_000
_KEPT = 6  # of the samples every sixth is written down, and all are drawn


def main(
    minutes: Annotated[float, typer.Option(help="How long batches are sent.")] = 60,
    batches: Annotated[int, typer.Option(help="How many.")] = 288,
    rate: Annotated[int, typer.Option(help="Changes of each.")] = 500,
    port: Annotated[int, typer.Option(help="Of the UI; the two above are taken as well.")] = 13_400,
) -> None:
    """Run it, write `benchmarks/results/day.json`, `day.png` and `day_memory.png`; exit with 1 if the audit fails."""
    console = Console(stderr=True)
    folder = Path(tempfile.mkdtemp(prefix="day-"))
    source = Source("stream_0", 0, _KEYS)
    lakehouse = DevLakehouse(folder, [source], port=port)
    samples, growths = Samples(lakehouse.root), list[Growth]()
    console.print(f"Everything is in {folder}.", highlight=False)
    try:
        lakehouse.begin([source])
        for number in range(batches):
            began = time.monotonic()
            source.change(lakehouse.kafka, rate)
            memory = sum(samples.take().memory.values())
            growths.append(_look(lakehouse, samples))
            console.print(f"batch {number + 1}: {memory:,.0f} MiB, {_in_words(growths[-1])}", highlight=False)
            time.sleep(max(0.0, minutes * 60 / batches - (time.monotonic() - began)))
        code, audited = lakehouse.audit()
        growths.append(_look(lakehouse, samples))
    finally:
        lakehouse.stop()
        lakehouse.command("down")
        if growths:
            samples.plot(RESULTS / "day_memory.png")
            plot(growths, RESULTS / "day.png")
    report = {
        "minutes": minutes,
        "batches": batches,
        "messages": source.sent,
        "audit": {"exit_code": code, "report": audited},
        "most": _most(growths),
        "growth": [asdict(growth) for growth in growths[::_KEPT]],
        "memory": [asdict(sample) for sample in samples.taken[::_KEPT]],
    }
    (RESULTS / "day.json").write_text(json.dumps(report, indent=1) + "\n")
    console.print(f"audit: exit {code}; at most {report['most']}", highlight=False)
    shutil.rmtree(folder)
    raise typer.Exit(1 if code else 0)


def _look(lakehouse: DevLakehouse, samples: Samples) -> Growth:
    lake = Lake(load_settings(Path(lakehouse.environ["LAKEHOUSE_CONF"]), lakehouse.environ))
    try:
        return Growth.of(lake, samples.seconds)
    finally:
        lake.catalog.close()


def _in_words(growth: Growth) -> str:
    snapshots = {name: size.snapshots for name, size in growth.tables.items()}
    return f"{growth.runs} runs, {growth.events} events, {growth.dagster_mib} MiB of Dagster; snapshots: {snapshots}"


def _most(growths: Sequence[Growth]) -> dict[str, dict[str, float]]:
    """Table → the most that it ever had of each."""
    names = {name for growth in growths for name in growth.tables}
    sizes = {
        name: [asdict(growth.tables[name]) for growth in growths if name in growth.tables] for name in sorted(names)
    }
    return {name: {key: max(size[key] for size in seen) for key in seen[0]} for name, seen in sizes.items()}


if __name__ == "__main__":
    typer.run(main)
