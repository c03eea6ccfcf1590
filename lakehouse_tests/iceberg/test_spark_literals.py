"""What Spark reads in a literal is the value that Iceberg stores."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)
from pyspark.sql import SparkSession

from lakehouse.iceberg.spark_literals import literal

MONEY = DecimalType(9, 2)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (True, BooleanType(), "True"),
        (7, IntegerType(), "7"),
        (-7, LongType(), "-7L"),
        (Decimal("1.50"), MONEY, "CAST('1.50' AS DECIMAL(9, 2))"),
        ("' OR 1=1", StringType(), "CAST(X'27204f5220313d31' AS STRING)"),
        (19_000, DateType(), "date_from_unix_date(19000)"),
        (5, TimestamptzType(), "timestamp_micros(5)"),
        (5, TimestampType(), "CAST(timestamp_micros(5) AS TIMESTAMP_NTZ)"),
    ],
)
def test_literals(value: Any, kind: IcebergType, text: str) -> None:
    assert literal(value, kind) == text


@pytest.mark.parametrize("kind", [FloatType(), TimeType()])
def test_a_type_without_literals(kind: IcebergType) -> None:
    with pytest.raises(ValueError, match=f"No literal of type {kind}"):
        literal(1, kind)


MICROS = st.integers(-(2**60), 2**60)
# Type, its values, and how Spark gives one back as Iceberg stores it.
KINDS: list[tuple[IcebergType, st.SearchStrategy[Any], str]] = [
    (BooleanType(), st.booleans(), "{}"),
    (IntegerType(), st.integers(-(2**31), 2**31 - 1), "{}"),
    (LongType(), st.integers(-(2**63), 2**63 - 1), "{}"),
    (MONEY, st.decimals(-9_999_999, 9_999_999, places=2), "{}"),
    (StringType(), st.text(st.characters(codec="utf-8")), "{}"),
    (DateType(), st.integers(-10_000_000, 10_000_000), "unix_date({})"),
    (TimestamptzType(), MICROS, "unix_micros({})"),
    (TimestampType(), MICROS, "unix_micros(CAST({} AS TIMESTAMP))"),
]


@pytest.mark.spark
@settings(max_examples=5)
@example(([False], [-(2**31), 2**31 - 1], [-(2**63), 2**63 - 1], [Decimal("0.00")], [""], [0], [0], [0]))
@given(values=st.tuples(*(st.lists(values, min_size=1, max_size=10) for _, values, _ in KINDS)))
def test_spark_reads_the_value(spark: SparkSession, values: tuple[list[Any], ...]) -> None:
    drawn = [(value, kind, back) for (kind, _, back), of_kind in zip(KINDS, values, strict=True) for value in of_kind]
    shown = ", ".join(back.format(literal(value, kind)) for value, kind, back in drawn)
    [row] = spark.sql(f"SELECT {shown}").collect()
    assert list(row) == [value for value, _, _ in drawn]
