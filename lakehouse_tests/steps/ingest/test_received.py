"""What a task tells of what arrived, against a list of all of it."""

import itertools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.steps.ingest.received import NAMED_GAPS, TOMBSTONE, Received, Stretch, last_refused

# Offset → what became of its record; an offset that is not there had none.
FATES = st.dictionaries(st.integers(0, 60), st.sampled_from(["good", "not_json", TOMBSTONE]), min_size=1)


def batch(partition: int, fates: dict[int, str], received: Received) -> None:
    offsets = sorted(fates)
    records = pa.record_batch(
        {"partition": pa.array([partition] * len(offsets), pa.int32()), "offset": pa.array(offsets, pa.int64())}
    )
    received.take(records, {row: fates[o] for row, o in enumerate(offsets) if fates[o] != "good"})


def pieces(fates: dict[int, str], cuts: list[int]) -> list[dict[int, str]]:
    bounds = [0, *sorted(cuts), 61]
    parts = [{o: fate for o, fate in fates.items() if a <= o < b} for a, b in itertools.pairwise(bounds)]
    return [part for part in parts if part]


@settings(max_examples=50)
@given(FATES, st.lists(st.integers(0, 60), max_size=4))
def test_batches_of_a_task_are_one_stretch_that_names_what_it_lacks(fates: dict[int, str], cuts: list[int]) -> None:
    received = Received()
    for part in pieces(fates, cuts):
        batch(3, part, received)
    (stretch,) = received.stretches[3]
    assert (stretch.first, stretch.last, stretch.records) == (min(fates), max(fates), len(fates))
    missing = {offset for start, end in stretch.gaps for offset in range(start, end)}
    assert missing == set(range(min(fates), max(fates))) - set(fates)
    assert stretch.missing == len(missing)


@settings(max_examples=50)
@given(FATES, st.lists(st.integers(0, 60), max_size=4), st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_last_refused_records_are_counted_over_tasks_and_runs(fates, cuts, before, random) -> None:  # type: ignore[no-untyped-def]
    tasks = [Received() for _ in pieces(fates, cuts)]
    for task, part in zip(tasks, pieces(fates, cuts), strict=True):
        batch(0, part, task)
    stretches = [stretch for task in tasks for stretch in task.stretches[0]]
    random.shuffle(stretches)
    judged = ["not_json"] * before + [fates[o] for o in sorted(fates) if fates[o] != TOMBSTONE]
    good = [place for place, fate in enumerate(judged) if fate == "good"]
    assert last_refused(stretches, before) == len(judged) - 1 - (good[-1] if good else -1)


def test_a_task_with_several_partitions_and_offsets_that_come_again() -> None:
    received = Received()
    records = pa.record_batch({"partition": pa.array([1, 0, 1], pa.int32()), "offset": pa.array([7, 5, 4], pa.int64())})
    received.take(records, {})
    received.take(records, {2: "not_json"})
    first = Stretch(4, 7, 2, 2, [(5, 7)], 2, 0)
    assert received.stretches == {
        0: [Stretch(5, 5, 1, 0, [], 1, 0), Stretch(5, 5, 1, 0, [], 1, 0)],
        1: [first, first],
    }


def test_very_many_gaps_are_counted_and_the_first_are_named() -> None:
    received = Received()
    batch(0, dict.fromkeys(range(0, 200, 2), "good"), received)
    (stretch,) = received.stretches[0]
    assert (stretch.missing, len(stretch.gaps), stretch.gaps[0]) == (99, NAMED_GAPS, (1, 2))


@pytest.mark.parametrize("before", [0, 19])
def test_what_brought_nothing_changes_nothing(before: int) -> None:
    assert last_refused([], before) == before
