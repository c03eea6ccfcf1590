"""What `pytest --timings FOLDER` has written, as tables for a page."""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Record = dict[str, Any]
FORKED = 0.2  # CPU seconds; what used less is a fork on its way to becoming another program


@dataclass(frozen=True)
class Usage:
    """CPU seconds that each worker's processes had used, at the moments when somebody looked."""

    times: Sequence[float]
    totals: Sequence[dict[str, float]]

    @property
    def whole(self) -> float:
        """CPU seconds of all of them, in the end."""
        return sum(self.totals[-1].values()) if self.totals else 0.0

    def between(self, worker: int, start: float, end: float) -> float:
        """CPU seconds of a worker and its servers between two moments, in between two looks by interpolation."""
        return self._until(str(worker), end) - self._until(str(worker), start)

    def _until(self, worker: str, time: float) -> float:
        if not self.times:
            return 0.0
        place = min(bisect_left(self.times, time), len(self.times) - 1)
        after = self.totals[place].get(worker, 0.0)
        if place == 0 or self.times[place] <= time:
            return after
        before = self.totals[place - 1].get(worker, 0.0)
        share = (time - self.times[place - 1]) / (self.times[place] - self.times[place - 1])
        return before + share * (after - before)


@dataclass(frozen=True)
class Timings:
    """Phases of tests, set-ups of fixtures and processes, each with its times."""

    phases: Sequence[Record]
    fixtures: Sequence[Record]
    processes: Sequence[Record]
    usage: Usage

    @classmethod
    def read(cls, folder: Path) -> "Timings":
        """Read a folder, also while it is being written: a last line that is not whole yet is left out."""
        kinds: dict[str, list[Record]] = defaultdict(list)
        for path in sorted(folder.glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
                if line.endswith("\n"):
                    record = json.loads(line)
                    kinds[record["kind"]].append(record)
        usage = Usage([look["time"] for look in kinds["cpu"]], [look["by_worker"] for look in kinds["cpu"]])
        return cls(kinds["phase"], kinds["fixture"], kinds["process"], usage)


def report(timings: Timings, most: int = 20) -> str:
    """All tables.

    Args:
        timings: What was measured.
        most: Rows of those tables that could have many.
    """
    parts = [
        _whole(timings),
        "Processes that used a fifth of a CPU second or more:\n",
        _servers(timings.processes),
        "Set-ups, calls and tear-downs, added up over all processes of the suite; who asks first pays for a server:\n",
        _phases(timings, "folder", lambda phase: _path(phase).split("/")[0]),
        _phases(timings, "module", _path, most),
        _phases(timings, "test", lambda phase: f"`{_path(phase)}` {phase['name'].partition('::')[2]}", most),
        "Set-ups of fixtures, each with those that it asks for:\n",
        _fixtures(timings.fixtures, most),
    ]
    return "\n".join(parts)


def _whole(timings: Timings) -> str:
    took = max(phase["end"] for phase in timings.phases) - min(phase["start"] for phase in timings.phases)
    tests = len({phase["name"] for phase in timings.phases})
    looks, cpu = timings.usage.times, timings.usage.whole
    watched = looks[-1] - looks[0] if len(looks) > 1 else took
    head = ["tests", "seconds of tests", "with start and collection", "CPU seconds", "busy cores"]
    return _table(head, [[tests, f"{took:.0f}", f"{watched:.0f}", f"{cpu:.0f}", f"{cpu / watched:.2f}"]])


def _phases(timings: Timings, title: str, name_of: Callable[[Record], str], most: int | None = None) -> str:
    """Set-ups, calls and tear-downs by name; where CPU is far below the seconds, they waited."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for phase in timings.phases:
        row = sums[name_of(phase)]
        row[0] += phase["end"] - phase["start"]
        row[1] += timings.usage.between(phase["pid"], phase["start"], phase["end"])
        row[2] += phase["phase"] == "call"
    rows = sorted(sums.items(), key=lambda named: -named[1][0])[:most]
    return _table([title, "seconds", "CPU seconds", "tests"], [[name, *map(_rounded, row)] for name, row in rows])


def _fixtures(setups: Iterable[Record], most: int) -> str:
    """How often each was set up, and how long that took with the fixtures that it asks for itself."""
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for setup in setups:
        row = sums[setup["name"], setup["scope"].rpartition(".")[2].lower()]
        row[0] += 1
        row[1] += setup["end"] - setup["start"]
    rows = sorted(sums.items(), key=lambda named: -named[1][1])[:most]
    return _table(
        ["fixture", "scope", "set up", "seconds"],
        [[f"`{name}`", scope, *map(_rounded, row)] for (name, scope), row in rows],
    )


def _servers(processes: Iterable[Record]) -> str:
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for process in processes:
        if process["cpu"] >= FORKED:
            row = sums[process["what"] or "other"]
            row[0] += 1
            row[1] += process["cpu"]
    rows = sorted(sums.items(), key=lambda named: -named[1][1])
    return _table(["process", "started", "CPU seconds"], [[name, *map(_rounded, row)] for name, row in rows])


def _path(phase: Record) -> str:
    return phase["name"].split("::")[0].removeprefix("lakehouse_tests/")


def _rounded(value: float) -> str:
    return f"{value:.0f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)
