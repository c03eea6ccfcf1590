"""From runs to figures: medians over the measured rounds, and each system as a ratio to ours."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.outputs import Output

NAMES = {"ours": "ours, all promises on", "streaming": "Structured Streaming", "connect": "Iceberg Kafka Connect sink"}


@dataclass(frozen=True)
class Run:
    """One ingest of the whole topic."""

    case: str
    system: str
    round: int
    warm_up: bool
    seconds: float
    cpu_seconds: float
    records: int
    output: Output

    @property
    def per_second(self) -> float:
        """Records per second."""
        return self.records / self.seconds

    @property
    def per_cpu_second(self) -> float:
        """Records per second of CPU time, of all its processes."""
        return self.records / self.cpu_seconds

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {**asdict(self), "per_second": round(self.per_second), "per_cpu_second": round(self.per_cpu_second)}


@dataclass(frozen=True)
class Figure:
    """A system in a case: medians, and how many times as much ours does."""

    case: str
    system: str
    per_cpu_second: float
    per_second: float
    commits: float
    ours_per_cpu_second: float
    ours_per_second: float


def figures(runs: Sequence[Run]) -> list[Figure]:
    """One for each case and system, from the measured rounds."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if not run.warm_up:
            groups.setdefault((run.case, run.system), []).append(run)
    medians = []
    for (case, system), measured in groups.items():
        cpu = statistics.median(run.per_cpu_second for run in measured)
        wall = statistics.median(run.per_second for run in measured)
        ours = groups.get((case, "ours"), measured)
        medians.append(
            Figure(
                case=case,
                system=system,
                per_cpu_second=cpu,
                per_second=wall,
                commits=statistics.median(run.output.commits for run in measured),
                ours_per_cpu_second=statistics.median(run.per_cpu_second for run in ours) / cpu,
                ours_per_second=statistics.median(run.per_second for run in ours) / wall,
            )
        )
    return medians


def disagreements(runs: Sequence[Run]) -> list[str]:
    """Runs of one case whose tables do not hold the same."""
    messages = []
    for case in dict.fromkeys(run.case for run in runs):
        outputs = {(run.output.checksum, tuple(run.output.rows.items())): run for run in runs if run.case == case}
        if len(outputs) > 1:
            contents = "; ".join(
                f"{run.system} round {run.round}: {run.output.rows} {run.output.sums} {run.output.checksum}"
                for run in outputs.values()
            )
            messages.append(f"{case}: {contents}")
    return messages


def markdown(results: Sequence[Figure]) -> str:
    """The table for people."""
    lines = [
        "| tables | system | records per CPU-second | ours is | records per second | ours is | commits |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for each in sorted(results, key=lambda result: (result.case != "one", list(NAMES).index(result.system))):
        cpu, wall = (
            "" if each.system == "ours" else f"{ratio:.2f} ×"
            for ratio in (each.ours_per_cpu_second, each.ours_per_second)
        )
        lines.append(
            f"| {each.case} | {NAMES[each.system]} | {each.per_cpu_second:,.0f} | {cpu} "
            f"| {each.per_second:,.0f} | {wall} | {each.commits:.0f} |"
        )
    return "\n".join(lines)
