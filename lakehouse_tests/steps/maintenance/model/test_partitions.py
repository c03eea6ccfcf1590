"""What partitions are called, and when they end."""

from typing import Any

import pytest
from pyiceberg.transforms import (
    DayTransform,
    HourTransform,
    MonthTransform,
    Transform,
    YearTransform,
)
from pyiceberg.types import TimestampType

from lakehouse.steps.maintenance.model.partitions import NEVER, partition_end, partition_named
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.maintenance.test_out_of_range import FAR, LAST, create, declared


@pytest.mark.parametrize(
    ("transform", "value", "shown"),
    [
        (YearTransform(), FAR, "7854970"),
        (MonthTransform(), FAR, "656386-09"),
        (DayTransform(), FAR, str(FAR)),
        (DayTransform(), LAST, "9999-12-31"),
        (HourTransform(), FAR * 24, str(FAR * 24)),
    ],
)
def test_a_time_after_the_year_9999_has_a_name_and_no_end(
    sql_lake: Lake, transform: Transform[Any, Any], value: int, shown: str
) -> None:
    table = sql_lake.load(create(sql_lake, TimestampType(), transform))
    assert partition_named(table, declared(sql_lake), 0, [value]).name == f"part={shown}"
    assert partition_end(table, 0, [value]) == NEVER
    assert partition_end(table, 0, [-value * 2]) is not None, "one before the year 1 is over"
