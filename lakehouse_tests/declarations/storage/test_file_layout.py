"""How rows are distributed to files follows from what a batch is like, and from what was measured."""

from dataclasses import replace
from typing import Any

import pytest

from lakehouse.declarations.storage.file_layout import LayoutFacts, choose
from lakehouse.declarations.storage.measured_layouts import MeasuredAppend

MIB = 2**20
FACTS = LayoutFacts(partitions_per_batch=10, sort_order=False, cores=4, batch_bytes=64 * MIB, target=128 * MIB)


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({}, "hash"),
        ({"partitions_per_batch": 0}, "none"),
        ({"partitions_per_batch": 0, "sort_order": True}, "range"),
        ({"partitions_per_batch": 1, "batch_bytes": 400 * MIB}, "none"),
        ({"sort_order": True}, "hash"),
        ({"sort_order": True, "partitions_per_batch": 1, "batch_bytes": 400 * MIB}, "range"),
    ],
)
def test_the_mode_is_chosen_from_what_a_batch_is_like(changes: dict[str, Any], mode: str) -> None:
    assert choose(replace(FACTS, **changes), ()).distribution_mode == mode


def test_a_stream_is_never_distributed_by_range() -> None:
    sorted_ = replace(FACTS, partitions_per_batch=0, sort_order=True)
    assert choose(sorted_, ()).distribution_mode == "range"
    assert choose(sorted_, (), for_stream=True).distribution_mode == "hash"


def test_what_was_measured_decides_whether_files_are_kept_open() -> None:
    def measured(writers: int, seconds: dict[bool, float]) -> list[MeasuredAppend]:
        return [MeasuredAppend(writers, 10, "hash", fanout, 10, time) for fanout, time in seconds.items()]

    near, far = measured(4, {True: 9.0, False: 5.0}), measured(64, {True: 1.0, False: 5.0})
    assert choose(FACTS, [*near, *far]).fanout is False
    assert choose(replace(FACTS, cores=60), [*near, *far]).fanout is True
    assert "with 4 writers and 10 partitions: 9.0 s" in choose(FACTS, near).because
    assert choose(replace(FACTS, partitions_per_batch=4000), ()).fanout is False
