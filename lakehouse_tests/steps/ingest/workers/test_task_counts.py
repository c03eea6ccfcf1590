"""What a task counts, and how it tells of it."""

import numpy as np

from lakehouse.engines.kafka.statement import COPIES
from lakehouse.steps.ingest.workers.task_counts import TaskCounts
from lakehouse_tests.steps.ingest.workers.tasks import batch


def test_records_are_counted_with_their_bytes_and_minutes() -> None:
    counts = TaskCounts()
    counts.read(batch([b"12345", b"678"]))
    counts.read(batch([b"9"]))
    report = counts.finish({})
    assert (report.read, report.bytes, report.arrivals) == (3, 5 + 3 + 1 + 3, {60: 3})


def test_offsets_are_tallied_by_partition() -> None:
    counts = TaskCounts()
    counts.tally("raw.a", np.array([0, 1, 0], np.int32), np.array([3, 4, 5], np.int64))
    counts.tally("raw.a", np.array([0], np.int32), np.array([7], np.int64))
    assert counts.finish({}).tallies == {"raw.a": {0: ("3", "15", "83"), 1: ("1", "4", "16")}}


def test_further_rows_of_a_record_are_taken_off() -> None:
    counts, extra = TaskCounts(), np.array([1, 1], np.int64)
    counts.tally_copies(batch([b"a", b"b"], start=10), extra)
    assert counts.finish({}).tallies == {COPIES: {0: ("-2", "-22", "-242")}}
