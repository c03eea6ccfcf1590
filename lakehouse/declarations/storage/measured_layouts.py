"""What was measured of ways to distribute rows over files (`benchmarks/upkeep/layout.py`, part of `make bench`)."""

from dataclasses import dataclass
from typing import Literal

Mode = Literal["none", "hash", "range"]


@dataclass(frozen=True)
class MeasuredAppend:
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


MEASURED: tuple[MeasuredAppend, ...] = (
    MeasuredAppend(2, 4, "none", False, 8, 4.45),
    MeasuredAppend(2, 4, "none", True, 8, 2.61),
    MeasuredAppend(2, 4, "hash", False, 4, 3.84),
    MeasuredAppend(2, 4, "hash", True, 4, 3.31),
    MeasuredAppend(2, 4, "range", False, 4, 4.04),
    MeasuredAppend(2, 4, "range", True, 4, 3.62),
    MeasuredAppend(2, 32, "none", False, 64, 4.48),
    MeasuredAppend(2, 32, "none", True, 64, 6.69),
    MeasuredAppend(2, 32, "hash", False, 32, 4.17),
    MeasuredAppend(2, 32, "hash", True, 32, 4.61),
    MeasuredAppend(2, 32, "range", False, 32, 5.08),
    MeasuredAppend(2, 32, "range", True, 32, 5.87),
    MeasuredAppend(2, 128, "none", False, 256, 6.63),
    MeasuredAppend(2, 128, "none", True, 256, 15.34),
    MeasuredAppend(2, 128, "hash", False, 128, 7.27),
    MeasuredAppend(2, 128, "hash", True, 128, 11.08),
    MeasuredAppend(2, 128, "range", False, 128, 7.08),
    MeasuredAppend(2, 128, "range", True, 128, 11.68),
    MeasuredAppend(8, 4, "none", False, 32, 3.24),
    MeasuredAppend(8, 4, "none", True, 32, 3.76),
    MeasuredAppend(8, 4, "hash", False, 4, 3.2),
    MeasuredAppend(8, 4, "hash", True, 4, 3.25),
    MeasuredAppend(8, 4, "range", False, 4, 4.37),
    MeasuredAppend(8, 4, "range", True, 4, 3.48),
    MeasuredAppend(8, 32, "none", False, 256, 6.58),
    MeasuredAppend(8, 32, "none", True, 256, 9.7),
    MeasuredAppend(8, 32, "hash", False, 32, 3.87),
    MeasuredAppend(8, 32, "hash", True, 32, 3.97),
    MeasuredAppend(8, 32, "range", False, 32, 4.68),
    MeasuredAppend(8, 32, "range", True, 32, 4.96),
    MeasuredAppend(8, 128, "none", False, 1024, 12.91),
    MeasuredAppend(8, 128, "none", True, 1024, 19.44),
    MeasuredAppend(8, 128, "hash", False, 128, 7.49),
    MeasuredAppend(8, 128, "hash", True, 128, 9.67),
    MeasuredAppend(8, 128, "range", False, 128, 6.73),
    MeasuredAppend(8, 128, "range", True, 128, 9.88),
)
