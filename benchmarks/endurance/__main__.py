"""`python -m benchmarks.endurance`: an hour of `lakehouse dev` with a catch-up and kills; then everything is compared.

Nobody helps meanwhile. Processes are killed between two sends, so that what was sent is known.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.endurance.faults import VICTIMS, kill
from benchmarks.endurance.lakehouse import DevLakehouse
from benchmarks.endurance.samples import Samples
from benchmarks.endurance.source import Source
from lakehouse.engines.kafka import BrokerUnreachable, read_topic
from lakehouse.orchestration.resources import Lake
from lakehouse.settings import load_settings

RESULTS = Path(__file__).parents[1] / "results"
_TICK_SECONDS = 5.0
_KEPT = 12  # of the samples every twelfth is written down, and all are drawn
_SETTLED_WITHIN = 1800.0
_KEYS = 200_000


def main(
    minutes: Annotated[float, typer.Option(help="How long changes are sent.")] = 60,
    streams: Annotated[int, typer.Option(help="Streams, each with a changelog and a mirror.")] = 7,
    catch_up: Annotated[int, typer.Option(help="Changes that come at once, in all streams together.")] = 3_000_000,
    rate: Annotated[int, typer.Option(help="Changes of each stream in five seconds, otherwise.")] = 50,
    port: Annotated[int, typer.Option(help="Of the UI; the two above are taken as well.")] = 13_300,
    *,
    keep: Annotated[bool, typer.Option(help="Keep the folder, to look at.")] = False,
) -> None:
    """Run it, write `benchmarks/results/endurance.json` and `.png`, and exit with 1 if anything was lost."""
    console = Console(stderr=True)
    folder = Path(tempfile.mkdtemp(prefix="endurance-"))
    sources = [Source(f"stream_{number}", number, _KEYS) for number in range(streams)]
    lakehouse = DevLakehouse(folder, sources, port=port)
    samples = Samples(lakehouse.root)
    console.print(f"Everything is in {folder}.", highlight=False)
    try:
        lakehouse.begin(sources)
        _work(lakehouse, sources, samples, minutes * 60, _plan(lakehouse, sources, samples, catch_up), rate, console)
        settled = _settle(lakehouse, sources, samples, console)
        code, audited = lakehouse.audit()
    finally:
        lakehouse.stop()
        lakehouse.command("down")
        samples.plot(RESULTS / "endurance.png")
    differences = {source.name: _difference(lakehouse, source) for source in sources}
    report = {
        "minutes": minutes,
        "messages": {source.name: source.sent for source in sources},
        "settled_seconds": settled,
        "audit": {"exit_code": code, "report": audited},
        "differences": differences,
        "events": samples.events,
        "samples": [asdict(sample) for sample in samples.taken[::_KEPT]],
    }
    (RESULTS / "endurance.json").write_text(json.dumps(report, indent=1) + "\n")
    console.print(f"audit: exit {code}; differences: {differences}; settled {settled:.0f} s after the last change")
    if not keep:
        shutil.rmtree(folder)
    raise typer.Exit(1 if code or any(differences.values()) else 0)


def _plan(
    lakehouse: DevLakehouse, sources: Sequence[Source], samples: Samples, catch_up: int
) -> list[tuple[float, Callable[[], None]]]:
    """What happens beside the trickle, and at which share of the time."""

    def all_at_once() -> None:
        samples.note("catch-up")
        for source in sources:
            source.change(lakehouse.kafka, catch_up // len(sources))

    def killing(kind: str) -> Callable[[], None]:
        return lambda: samples.note(f"{kind} killed: {kill(lakehouse.root, kind) or 'none was there'}")

    return [(0.25, all_at_once), *((0.45 + 0.15 * turn, killing(kind)) for turn, kind in enumerate(VICTIMS))]


def _work(
    lakehouse: DevLakehouse,
    sources: Sequence[Source],
    samples: Samples,
    seconds: float,
    planned: list[tuple[float, Callable[[], None]]],
    rate: int,
    console: Console,
) -> None:
    while samples.seconds < seconds:
        began = time.monotonic()
        if planned and samples.seconds >= planned[0][0] * seconds:
            planned.pop(0)[1]()
        if _answers(lakehouse, sources[0]):
            for source in sources:
                source.change(lakehouse.kafka, rate)
        else:
            samples.note("no broker")
        sample = samples.take()
        memory, count = sum(sample.memory.values()), sum(sample.processes.values())
        console.print(f"{sample.seconds:5.0f} s {memory:,.0f} MiB, {count} processes, {sample.disk:,.0f} MiB on disk")
        time.sleep(max(0.0, _TICK_SECONDS - (time.monotonic() - began)))


def _answers(lakehouse: DevLakehouse, source: Source) -> bool:
    try:
        read_topic(lakehouse.kafka, source.name)
    except BrokerUnreachable:
        return False
    return True


def _settle(lakehouse: DevLakehouse, sources: Sequence[Source], samples: Samples, console: Console) -> float:
    """Wait until every mirror is as its source; the seconds that it took, also where one never was."""
    samples.note("the last change")
    began, waiting = time.monotonic(), list(sources)
    while waiting and time.monotonic() - began < _SETTLED_WITHIN and lakehouse.is_up:
        waiting = [source for source in waiting if _difference(lakehouse, source)]
        samples.take()
        console.print(f"behind: {', '.join(source.name for source in waiting) or 'none'}")
        time.sleep(_TICK_SECONDS)
    return time.monotonic() - began


def _difference(lakehouse: DevLakehouse, source: Source) -> str:
    """In what a mirror differs from its source; empty if in nothing."""
    lake = Lake(load_settings(Path(lakehouse.environ["LAKEHOUSE_CONF"]), lakehouse.environ))
    table = lake.arrow(f"mirror.{source.name}", columns=["id", "word", "amount"])
    columns: dict[str, list[Any]] = table.to_pydict()
    rows = dict(zip(columns["id"], zip(columns["word"], columns["amount"], strict=True), strict=True))
    missing, extra = source.rows.keys() - rows.keys(), rows.keys() - source.rows.keys()
    stale = sum(rows[number] != row for number, row in source.rows.items() if number in rows)
    doubled = table.num_rows - len(rows)
    if not (missing or extra or stale or doubled):
        return ""
    return f"{len(missing)} missing, {len(extra)} too many, {stale} stale, {doubled} doubled"


if __name__ == "__main__":
    typer.run(main)
