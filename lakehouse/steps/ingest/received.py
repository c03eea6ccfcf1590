"""Which records a task received, in a few numbers for each Kafka partition, beside what it wrote of them.

The tallies of a table say what was written. Only this says what arrived, so that the driver can compare it with what it
had planned, name the offsets that brought nothing, and see how many of a partition's last records were refused.
"""

from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakehouse.formats.evolution.stopped import TABLE_STOPPED

TOMBSTONE = "tombstone"
"""The error class of a record without a value: neither a good record nor a bad one."""
NOT_JUDGED = frozenset({TOMBSTONE, TABLE_STOPPED})
"""Error classes of records that nobody has judged."""
NAMED_GAPS = 20
"""So many gaps are named; the others are counted."""


class Stretch(msgspec.Struct, array_like=True):
    """Records of one partition that one task received, in the order of their offsets.

    Attributes:
        first: the first offset.
        last: the last offset.
        records: how many.
        missing: offsets in between that brought no record.
        gaps: the first `NAMED_GAPS` ranges of these, each from start up to, not including, end.
        judged: how many records are neither tombstones nor of a table that is stopped.
        refused: how many of the last of these were refused, one after the other.
    """

    first: int
    last: int
    records: int = 0
    missing: int = 0
    gaps: list[tuple[int, int]] = msgspec.field(default_factory=list[tuple[int, int]])
    judged: int = 0
    refused: int = 0


class Received:
    """The stretches of one task, by partition. Offsets that do not rise from batch to batch begin another stretch."""

    def __init__(self) -> None:
        self.stretches: dict[int, list[Stretch]] = {}

    def take(self, records: pa.RecordBatch, errors: Mapping[int, str]) -> None:
        """Note one batch.

        Args:
            records: with the columns `partition` and `offset`.
            errors: row → error class, of those that go to quarantine.
        """
        refused, tombstone = np.zeros((2, records.num_rows), np.bool_)
        for row, error in errors.items():
            refused[row], tombstone[row] = True, error in NOT_JUDGED
        partitions, offsets = (records.column(name).to_numpy() for name in ("partition", "offset"))
        for partition in np.unique(partitions):
            rows = np.flatnonzero(partitions == partition)
            rows = rows[np.argsort(offsets[rows], kind="stable")]
            judged = rows[~tombstone[rows]]
            _note(self.stretches.setdefault(int(partition), []), offsets[rows], refused[judged])


def _note(stretches: list[Stretch], offsets: npt.NDArray[np.int64], refused: npt.NDArray[np.bool_]) -> None:
    first = int(offsets[0])
    if not stretches or stretches[-1].last >= first:
        stretches.append(Stretch(first, first - 1))
    stretch = stretches[-1]
    after = np.concatenate(([stretch.last], offsets))
    steps = np.diff(after)
    for index in np.flatnonzero(steps > 1):
        start, end = int(after[index]) + 1, int(after[index + 1])
        stretch.missing += end - start
        if len(stretch.gaps) < NAMED_GAPS:
            stretch.gaps.append((start, end))
    stretch.last = int(offsets[-1])
    stretch.records += len(offsets)
    accepted = np.flatnonzero(~refused)
    stretch.refused = stretch.refused + len(refused) if len(accepted) == 0 else len(refused) - 1 - int(accepted[-1])
    stretch.judged += len(refused)


def last_refused(stretches: list[Stretch], before: int) -> int:
    """How many of a partition's last records were refused, one after the other.

    Args:
        stretches: what all tasks received of the partition, in any order.
        before: how many it were when these came.
    """
    for stretch in sorted(stretches, key=lambda stretch: stretch.first):
        before = before + stretch.refused if stretch.refused == stretch.judged else stretch.refused
    return before
