"""What was measured of ways to distribute rows over files (`benchmarks/upkeep/layout.py`, part of `make bench`)."""

from dataclasses import dataclass
from typing import Literal

Mode = Literal["none", "hash", "range"]


@dataclass(frozen=True)
class Measured:
    """One append of Spark's.

    Attributes:
        writers: tasks that wrote at once.
        partitions: of the table that the rows belonged to.
        mode: `write.distribution-mode`.
        fanout: `write.spark.fanout.enabled`: a file for each partition is kept open, and rows need no sorting.
        files: that came of it.
        seconds: that it took.
    """

    writers: int
    partitions: int
    mode: Mode
    fanout: bool
    files: int
    seconds: float


MEASURED: tuple[Measured, ...] = ()
