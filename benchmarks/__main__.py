"""`make bench`: all systems in turn, round after round, on the same topic."""

import json
import platform
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby, product
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.accounting import cpu_seconds
from benchmarks.connect_system import ConnectSystem
from benchmarks.declared import CASES, Case
from benchmarks.encodings import AVRO, PROTOBUF, encoded
from benchmarks.lab import Lab, Limits, open_lab
from benchmarks.outputs import read_output
from benchmarks.report import Run, disagreements, figures, markdown
from benchmarks.spark_system import SparkSystem
from benchmarks.system import System
from lakehouse.engines.registries import ConfluentRegistry
from lakehouse.settings import load_settings
from lakehouse_tests.fixtures.schema_registry import running_registry

RESULTS = Path(__file__).parent / "results"
SYSTEMS = ("ours", "streaming", "connect")


def main(
    records: Annotated[int, typer.Option(help="How many records are ingested.")] = 2_000_000,
    rounds: Annotated[int, typer.Option(help="Measured rounds.")] = 3,
    warm_up: Annotated[int, typer.Option(help="Rounds before, which do not count.")] = 1,
    systems: Annotated[str, typer.Option(help="Which, by comma.")] = ",".join(SYSTEMS),
    cases: Annotated[str, typer.Option(help=f"Which, by comma: {', '.join(CASES)}.")] = "one,five",
    cores: Annotated[int, typer.Option(help="For each system.")] = 2,
    heap: Annotated[str, typer.Option(help="Of each system's JVM.")] = "1g",
    commit_records: Annotated[int, typer.Option(help="A commit of the Spark systems.")] = 500_000,
    commit_seconds: Annotated[float, typer.Option(help="The sink's commit interval.")] = 2.0,
    name: Annotated[str, typer.Option(help="Of the file with the results.")] = "throughput",
) -> None:
    """Compare systems; exit 1 if their outputs differ."""
    console = Console(stderr=True)
    limits = Limits(cores, heap, commit_records, commit_seconds)
    runs: list[Run] = []
    chosen = [CASES[each] for each in cases.split(",")]
    for topic, alike in groupby(chosen, key=lambda case: case.topic):
        of_topic = list(alike)
        with _lab(topic, of_topic[0], records, limits, console) as lab, ExitStack() as running:
            names = [name for name in systems.split(",") if any(name in case.systems for case in of_topic)]
            started = [running.enter_context(_system(name, lab)) for name in names]
            for case, number in product(of_topic, range(-warm_up, rounds)):
                for system in started:
                    if system.name in case.systems:
                        run = _measure(lab, system, case, number)
                        console.print(_line(run))
                        runs.append(run)
    results = figures(runs)
    different = disagreements(runs)
    result = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"system": platform.platform(), "processor": _processor(), "python": platform.python_version()},
        "records": records,
        "limits": asdict(limits),
        "figures": [asdict(each) for each in results],
        "disagreements": different,
        "runs": [run.to_dict() for run in runs],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(markdown(results))
    for each in different:
        console.print(f"[red]outputs differ, {each}")
    raise typer.Exit(1 if different else 0)


@contextmanager
def _lab(topic: str, case: Case, records: int, limits: Limits, console: Console) -> Generator[Lab]:
    """With the case's topic; with a registry, where its records name their schemas."""
    with ExitStack() as running:
        registry, number = None, 0
        if case.encoding != "json":
            registry = running.enter_context(running_registry(load_settings().state))
            text, kind = (AVRO, "AVRO") if case.encoding == "avro" else (PROTOBUF, "PROTOBUF")
            number = ConfluentRegistry(registry).register("orders", text, kind)
            topic = f"{topic}-{number}"
            ConfluentRegistry(registry).register(f"{topic}-{records}-value", text, kind)  # where a step looks first
        make = encoded(case.encoding, len(case.kinds), number)
        yield running.enter_context(open_lab(records, limits, console, name=topic, make=make, registry=registry))


def _system(name: str, lab: Lab) -> System:
    return ConnectSystem(lab) if name == "connect" else SparkSystem(name, lab)


def _measure(lab: Lab, system: System, case: Case, number: int) -> Run:
    """One ingest. Making tables, reading what was written and cleaning up are not counted."""
    namespace = f"{system.name}_{case.name}_{time.time_ns() // 1_000_000}"
    system.prepare(case, namespace)
    cpu, began = cpu_seconds(system.pid), time.monotonic()
    system.ingest(case, namespace)
    seconds, used = time.monotonic() - began, cpu_seconds(system.pid) - cpu
    system.settle(namespace)
    output = read_output(lab.catalog, case.tables(namespace))
    lab.drop_namespaces(case.namespaces(namespace))
    return Run(case.name, system.name, number, number < 0, seconds, used, lab.count, output)


def _line(run: Run) -> str:
    label = "warm-up" if run.warm_up else f"round {run.round}"
    return (
        f"{run.case:8} {run.system:10} {label:8} {run.seconds:7.2f} s  {run.cpu_seconds:7.2f} CPU-s  "
        f"{run.per_cpu_second:10,.0f}/CPU-s  {run.output.commits} commits  {run.output.checksum}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    typer.run(main)
