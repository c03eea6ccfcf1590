"""A change is as old as its timestamp says, unless that is of the future."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from lakehouse.steps.cdc.changelog_cleanup.change_age import young_changes

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)
FUTURE = -30000


@pytest.mark.parametrize(
    ("ages", "young"),
    [
        ([9, 8, 7], []),
        ([9, 5, 7, 1], [1, 3]),
        ([FUTURE, 8, 1], [2]),
        ([FUTURE, FUTURE, 8], []),
        ([FUTURE, 2, 8], [0, 1]),
        ([9, FUTURE], [1]),
        ([6], [0]),  # just within
    ],
)
def test_a_timestamp_of_the_future_counts_as_the_next_one_of_its_partition(ages: list[int], young: list[int]) -> None:
    rows = [(0, offset, NOW - age * DAY) for offset, age in enumerate(ages)]
    other = [(1, offset, NOW - 9 * DAY) for offset in range(9)]
    names = ["_kafka_partition", "_kafka_offset", "_kafka_timestamp"]
    changes = pl.DataFrame([*reversed(rows), *other], names, orient="row")  # files are in no order
    young_rows = young_changes(changes, NOW, 6 * DAY)
    assert young_rows.select(names[:2]).rows() == [(0, offset) for offset in young]
