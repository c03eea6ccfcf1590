"""What a lakehouse uses, looked at again and again: memory, processes, open files, disk; and its plot."""

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from matplotlib.figure import Figure

KINDS = {
    "SparkConnectServer": "Spark Connect",
    "kafka.Kafka": "broker",
    "worker_daemon": "Python worker",
    "spawn_main": "run",
    "dagster": "Dagster",
    "lakehouse": "command",
}
MIB = 1 << 20


@dataclass(frozen=True)
class Sample:
    """One look.

    Attributes:
        seconds: since the beginning.
        memory: kind of process → MiB that its processes have for themselves (unique set size).
        processes: kind of process → how many there are.
        files: open files and sockets of all of them.
        disk: MiB of the state folder.
    """

    seconds: float
    memory: Mapping[str, float]
    processes: Mapping[str, int]
    files: int
    disk: float


@dataclass
class Samples:
    """All looks at the processes of one state folder."""

    root: Path
    began: float = field(default_factory=time.monotonic)
    taken: list[Sample] = field(default_factory=list[Sample])
    events: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self.began

    def note(self, event: str) -> None:
        """Something that should be seen in the plot."""
        self.events.append((self.seconds, event))

    def take(self) -> Sample:
        """Look at all processes now."""
        memory, processes, files = Counter[str](), Counter[str](), 0
        for process in processes_of(self.root):
            with suppress(psutil.NoSuchProcess):
                kind = kind_of(process)
                memory[kind] += process.memory_full_info().uss // MIB
                files += process.num_fds()
                processes[kind] += 1
        disk = round(disk_usage(self.root) / MIB)
        sample = Sample(round(self.seconds), dict(memory), dict(processes), files, disk)
        self.taken.append(sample)
        return sample

    def plot(self, path: Path) -> None:
        """Draw memory and processes by kind, files and disk, over minutes; events are lines."""
        figure = Figure(figsize=(11, 12), layout="constrained")
        axes = figure.subplots(4, 1, sharex=True)
        minutes = [sample.seconds / 60 for sample in self.taken]
        kinds = sorted({kind for sample in self.taken for kind in sample.memory})
        axes[0].stackplot(minutes, [[s.memory.get(kind, 0) for s in self.taken] for kind in kinds], labels=kinds)
        axes[1].stackplot(minutes, [[s.processes.get(kind, 0) for s in self.taken] for kind in kinds], labels=kinds)
        axes[2].plot(minutes, [sample.files for sample in self.taken])
        axes[3].plot(minutes, [sample.disk for sample in self.taken])
        for axis, title in zip(axes, ("MiB of memory", "processes", "open files", "MiB on disk"), strict=True):
            axis.set_ylabel(title)
            axis.set_ylim(bottom=0)
            for seconds, event in self.events:
                axis.axvline(seconds / 60, color="grey", linewidth=0.5)
                if axis is axes[0]:
                    axis.annotate(event, (seconds / 60, axis.get_ylim()[1]), rotation=45, fontsize=7)
        axes[0].legend(loc="lower right")
        axes[3].set_xlabel("minutes")
        figure.savefig(path)


def processes_of(root: Path) -> Sequence[psutil.Process]:
    """Processes that were started for a state folder, which their environment names."""
    mine: list[psutil.Process] = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.pid != os.getpid() and process.environ().get("LAKEHOUSE_HOME") == str(root):
                mine.append(process)
    return mine


def kind_of(process: psutil.Process) -> str:
    """What a process is for, by its command line."""
    command = " ".join(process.cmdline())
    return next((kind for word, kind in KINDS.items() if word in command), "other")


def disk_usage(root: Path) -> int:
    """Bytes of all files in a folder, those that come and go meanwhile left out; the JARs are links."""
    total = 0
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(FileNotFoundError):
                total += (Path(folder) / name).lstat().st_size
    return total
