"""How long operations take here, and how well that was foreseen: from the rows of those that are done."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from lakehouse.steps.maintenance.model.action import Operation, Predicted, TableMeasure

MIB = 1024**2
# Where nothing is known yet, by `make bench`: what a core rewrites, what a rewrite costs before its first byte, and
# what it costs to open, read and prove one more file.
PER_CORE = 10 * MIB
OVERHEAD_SECONDS = 5.0
SECONDS_PER_FILE = 0.006
_NEWEST = 20
# A smaller job takes as long as its overhead, and says nothing about bytes.
_TELLING_BYTES = 32 * MIB
_FACTOR_FROM, _FACTOR_TO = 0.1, 10.0


@dataclass(frozen=True)
class Speed:
    """What an operation takes.

    Attributes:
        overhead: seconds, however little there is to do.
        bytes_per_second: beyond that.
    """

    overhead: float = OVERHEAD_SECONDS
    bytes_per_second: float = float(PER_CORE)

    def seconds(self, size: int, files: int = 0) -> float:
        """For so many bytes in so many files."""
        return self.overhead + files * SECONDS_PER_FILE + size / self.bytes_per_second

    def bytes_in(self, seconds: float, size: int = 0, files: int = 0) -> int:
        """What can be done in so many seconds, of so many bytes in so many files if it is told."""
        each = files * SECONDS_PER_FILE / size if size else 0.0
        return max(int((seconds - self.overhead) / (1 / self.bytes_per_second + each)), 0)


@dataclass(frozen=True)
class Experience:
    """What was learnt.

    Attributes:
        speeds: of the operations that were done often enough.
        usual: of all others.
        plan_factor: planning time saved, as measured, divided by what was predicted.
        commit_factor: the same of commits.
        cores: that work at once.
    """

    speeds: Mapping[Operation, Speed] = field(default_factory=dict[Operation, Speed])
    usual: Speed = field(default_factory=Speed)
    plan_factor: float = 1.0
    commit_factor: float = 1.0
    cores: int = 1

    def speed(self, operation: Operation) -> Speed:
        """Of an operation."""
        return self.speeds.get(operation, self.usual)


@dataclass(frozen=True)
class Done:
    """One action that is done, as its row tells.

    Attributes:
        uuid: of the table.
        before: the table before it, as it was measured.
        after: and after it.
    """

    uuid: str
    operation: Operation
    predicted: Predicted
    before: TableMeasure
    after: TableMeasure

    @property
    def seconds_without_files(self) -> float:
        """What it took, less what is known of the files that went."""
        gone = max(self.before.files - self.after.files, 0)
        return max(self.after.seconds - gone * SECONDS_PER_FILE, 0.0)


def unlearnt(cores: int | None = None) -> Experience:
    """What is assumed where nothing was done yet."""
    cores = cores or os.cpu_count() or 1
    return Experience(usual=Speed(bytes_per_second=float(PER_CORE * cores)), cores=cores)


def learn(rows: Sequence[Done], uuid: str, *, cores: int | None = None) -> Experience:
    """Learn from what was done, newest first: from the same table where it tells enough, else from all."""
    usual = unlearnt(cores)
    speeds: dict[Operation, Speed] = {}
    for operation in Operation:
        of_all = [row for row in rows if row.operation is operation and row.after.bytes]
        own = [row for row in of_all if row.uuid == uuid]
        known = own if any(row.after.bytes >= _TELLING_BYTES for row in own) else of_all
        if known:
            speeds[operation] = _speed(known[:_NEWEST], usual.usual)
    return Experience(
        speeds=speeds,
        usual=usual.usual,
        plan_factor=_factor(rows, "plan_ms"),
        commit_factor=_factor(rows, "commit_ms"),
        cores=usual.cores,
    )


def _speed(rows: Sequence[Done], usual: Speed) -> Speed:
    small = [row for row in rows if row.after.bytes < _TELLING_BYTES]
    overhead = median(row.seconds_without_files for row in small) if small else usual.overhead
    rates = [
        row.after.bytes / max(row.seconds_without_files - overhead, row.after.seconds / 2, 0.001)
        for row in rows
        if row.after.bytes >= _TELLING_BYTES
    ]
    rate = median(rates) if rates else usual.bytes_per_second
    # A night on which the machine slept must not make everything cost more than a run may: what is never done again is
    # never learnt anew.
    return Speed(min(overhead, usual.overhead * _FACTOR_TO), max(rate, usual.bytes_per_second * _FACTOR_FROM))


def _factor(rows: Sequence[Done], what: str) -> float:
    """Measured over predicted, of the newest rows that predicted anything."""
    ratios = [
        (getattr(row.before, what) - getattr(row.after, what)) / expected
        for row in rows
        if (expected := getattr(row.predicted, what)) >= 1 and getattr(row.after, what)
    ]
    if not ratios:
        return 1.0
    return min(max(median(ratios[:_NEWEST]), _FACTOR_FROM), _FACTOR_TO)
