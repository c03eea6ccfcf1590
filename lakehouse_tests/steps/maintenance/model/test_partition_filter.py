"""Partitions as conditions of Spark SQL; that they hold for the right rows, `test_compact.py` shows with Spark."""

from typing import Any

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import (
    DateType,
    DecimalType,
    IcebergType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimeType,
)

from lakehouse.steps.maintenance.model.partition_filter import NotNameable, where
from lakehouse_tests.fixtures.lakes import Lake


def condition(lake: Lake, kind: IcebergType, transform: Transform[Any, Any], value: object) -> str:
    schema = Schema(NestedField(1, "c`d", kind, required=False))
    spec = PartitionSpec(PartitionField(1, 1000, transform, "part"))
    return where(lake.catalog.create_table((lake.namespace, "a"), schema, partition_spec=spec), [(0, [value])])


CASES: list[tuple[IcebergType, Transform[Any, Any], object, str]] = [
    (DateType(), IdentityTransform(), 15706, "(`c``d` = date_from_unix_date(15706))"),
    (StringType(), IdentityTransform(), "it's", "(`c``d` = CAST(X'69742773' AS STRING))"),
    (StringType(), IdentityTransform(), None, "(`c``d` IS NULL)"),
    (DateType(), MonthTransform(), 516, "(lake.system.months(`c``d`) = 516)"),
    (TimestampType(), YearTransform(), 43, "(lake.system.years(`c``d`) = 43)"),
    (TimestampType(), DayTransform(), 15706, "(lake.system.days(`c``d`) = date_from_unix_date(15706))"),
    (TimestampType(), HourTransform(), 5, "(lake.system.hours(`c``d`) = 5)"),
    (LongType(), BucketTransform(16), 7, "(lake.system.bucket(16, `c``d`) = 7)"),
    (StringType(), TruncateTransform(2), "ab", "(lake.system.truncate(2, `c``d`) = CAST(X'6162' AS STRING))"),
    (DecimalType(9, 2), TruncateTransform(10), 1, "(lake.system.truncate(10, `c``d`) = CAST('1' AS DECIMAL(9, 2)))"),
    (LongType(), VoidTransform(), None, ""),
]


@pytest.mark.parametrize(("kind", "transform", "value", "expected"), CASES, ids=[case[3] or "void" for case in CASES])
def test_a_partition_as_a_condition(
    sql_lake: Lake, kind: IcebergType, transform: Transform[Any, Any], value: object, expected: str
) -> None:
    assert condition(sql_lake, kind, transform, value) == expected


def test_what_spark_cannot_be_told(sql_lake: Lake) -> None:
    with pytest.raises(NotNameable, match="time"):
        condition(sql_lake, TimeType(), IdentityTransform(), 5)


def test_a_transform_that_nobody_knows(sql_lake: Lake) -> None:
    with pytest.raises(NotNameable, match="a partition by unknown"):
        condition(sql_lake, LongType(), UnknownTransform("odd"), 5)


def test_a_column_that_is_gone(sql_lake: Lake) -> None:
    assert condition(sql_lake, LongType(), IdentityTransform(), 5)
    table = sql_lake.catalog.load_table((sql_lake.namespace, "a"))
    with table.update_spec() as update:
        update.remove_field("part")
    with table.update_schema() as update:
        update.add_column("other", LongType())
        update.delete_column("c`d")
    with pytest.raises(NotNameable, match="column is gone"):
        where(table, [(0, [5])])


def test_several_fields_and_several_partitions(sql_lake: Lake) -> None:
    place = NestedField(2, "at", StructType(NestedField(3, "day", DateType(), required=False)), required=False)
    schema = Schema(NestedField(1, "n", LongType(), required=False), place)
    spec = PartitionSpec(
        PartitionField(3, 1000, IdentityTransform(), "at_day"), PartitionField(1, 1001, BucketTransform(2), "n_bucket")
    )
    table = sql_lake.catalog.create_table((sql_lake.namespace, "a"), schema, partition_spec=spec)
    assert where(table, [(0, [0, 1]), (0, [None, 0])]) == (
        "(`at`.`day` = date_from_unix_date(0) AND lake.system.bucket(2, `n`) = 1) OR "
        "(`at`.`day` IS NULL AND lake.system.bucket(2, `n`) = 0)"
    )
