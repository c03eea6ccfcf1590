"""When a converted value is the same as its original, for each pair of types, on classic Spark and on Connect."""

import math
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from random import Random
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from lakehouse.contracts.profile.same_value import TypedValue, same
from lakehouse.engines.spark import spark_session
from lakehouse.settings import Settings

pytestmark = pytest.mark.spark

TEXT, INT, LONG, DOUBLE, FLOAT = T.StringType(), T.IntegerType(), T.LongType(), T.DoubleType(), T.FloatType()
MONEY, FINE = T.DecimalType(10, 2), T.DecimalType(20, 10)
DATE, INSTANT, WALL, TRUTH = T.DateType(), T.TimestampType(), T.TimestampNTZType(), T.BooleanType()
TEN = datetime(2013, 1, 1, 10, tzinfo=UTC)
FIVE = datetime(2013, 1, 1, 5)  # noqa: DTZ001 - a wall time
NAN, INF = float("nan"), float("inf")

# Original, its type, converted, its type, whether they are the same.
CASES: list[tuple[Any, T.DataType, Any, T.DataType, bool]] = [
    # Whole numbers and decimals: the same number, in whatever spelling and scale.
    ("7", TEXT, 7, INT, True),
    ("+7", TEXT, 7, INT, True),
    (" 7 ", TEXT, 7, INT, True),
    ("7.0", TEXT, 7, INT, True),
    ("7e0", TEXT, 7, INT, True),
    ("007", TEXT, 7, INT, False),  # a code
    ("7.5", TEXT, 7, INT, False),
    ("7", TEXT, 8, INT, False),
    ("-0", TEXT, 0, INT, True),
    ("", TEXT, 0, INT, False),
    (".", TEXT, 0, INT, False),
    ("seven", TEXT, 7, INT, False),
    ("1.5", TEXT, Decimal("1.50"), MONEY, True),
    ("1.500", TEXT, Decimal("1.50"), MONEY, True),
    ("15e-1", TEXT, Decimal("1.50"), MONEY, True),
    ("1.505", TEXT, Decimal("1.51"), MONEY, False),  # rounded
    ("1.505", TEXT, Decimal("1.50"), MONEY, False),  # cut off
    ("0.0000000001", TEXT, Decimal("0.0000000001"), FINE, True),
    (Decimal("1.50"), MONEY, Decimal("1.5"), FINE, True),
    (Decimal("1.51"), MONEY, Decimal("1.5"), FINE, False),
    (2**40, LONG, 2**40 - 2**32, LONG, False),
    (1, INT, 1, LONG, True),
    (12, INT, Decimal("12.00"), MONEY, True),
    # Floats: what they stand for, in as many digits as they have.
    ("0.1", TEXT, 0.1, DOUBLE, True),
    ("0.10", TEXT, 0.1, DOUBLE, True),
    ("0.10000000000000001", TEXT, 0.1, DOUBLE, True),  # 17 digits, as %.17g writes it
    ("0.1000000000000000055511151231257827", TEXT, 0.1, DOUBLE, False),  # no float has so many
    ("0.1", TEXT, 0.10000000000000002, DOUBLE, False),
    ("9007199254740993", TEXT, 9007199254740992.0, DOUBLE, False),  # the classic: an id as a float
    ("9007199254740992", TEXT, 9007199254740992.0, DOUBLE, True),
    ("1152921504606846976", TEXT, 2.0**60, DOUBLE, True),
    ("1e23", TEXT, 1e23, DOUBLE, True),
    ("4.553090176005031e+16", TEXT, 4.553090176005031e16, DOUBLE, True),  # as Python writes it
    ("45530901760050310", TEXT, 4.553090176005031e16, DOUBLE, False),  # the float is two more
    ("5.684341886080802E-14", TEXT, 5.684341886080802e-14, DOUBLE, True),  # Java 17 writes one digit more
    ("-0.0", TEXT, 0.0, DOUBLE, True),
    ("0", TEXT, -0.0, DOUBLE, True),
    ("NaN", TEXT, NAN, DOUBLE, True),
    ("nan", TEXT, NAN, DOUBLE, True),
    ("NaN", TEXT, 0.0, DOUBLE, False),
    ("n/a", TEXT, NAN, DOUBLE, False),
    ("-Infinity", TEXT, -INF, DOUBLE, True),
    ("-Infinity", TEXT, INF, DOUBLE, False),
    ("1e999", TEXT, INF, DOUBLE, False),
    ("1d", TEXT, 1.0, DOUBLE, False),  # Spark reads it, and nobody means it
    ("0.1", TEXT, float(np.float32(0.1)), FLOAT, True),
    ("16777217", TEXT, 16777216.0, FLOAT, False),
    ("0.12345678901", TEXT, float(np.float32(0.12345678901)), FLOAT, False),
    (0.1, DOUBLE, float(np.float32(0.1)), FLOAT, False),
    (0.5, DOUBLE, 0.5, FLOAT, True),
    (NAN, DOUBLE, NAN, FLOAT, True),
    (-0.0, DOUBLE, 0.0, DOUBLE, True),
    (0.18, DOUBLE, Decimal("0.18"), MONEY, True),
    (0.185, DOUBLE, Decimal("0.19"), MONEY, False),
    (NAN, DOUBLE, Decimal("0.00"), MONEY, False),
    (9007199254740993, LONG, 9007199254740992.0, DOUBLE, False),
    (0.1, DOUBLE, "0.1", TEXT, True),  # the text may be the converted one
    # Instants: the same moment. Wall times: the same reading of the clock.
    ("2013-01-01T05:00:00-05:00", TEXT, TEN, INSTANT, True),
    ("2013-01-01T10:00:00Z", TEXT, TEN, INSTANT, True),
    ("2013-01-01 10:00:00", TEXT, TEN, INSTANT, True),  # taken for UTC
    ("2013-01-01 05:00:00", TEXT, TEN, INSTANT, False),  # taken for local time by the conversion
    ("2013-01-01T05:00:00-05:00", TEXT, datetime(2013, 1, 1, 5, tzinfo=UTC), INSTANT, False),  # the zone was dropped
    ("2013-01-01T10:00:00.000000000Z", TEXT, TEN, INSTANT, True),
    ("2013-01-01T10:00:00.000000001Z", TEXT, TEN, INSTANT, False),  # a nanosecond was cut off
    ("10:00:00", TEXT, TEN, INSTANT, False),
    (TEN, INSTANT, TEN, INSTANT, True),
    ("2013-01-01T05:00:00", TEXT, FIVE, WALL, True),
    ("2013-01-01T05:00:00-05:00", TEXT, FIVE, WALL, True),
    ("2013-01-01T10:00:00Z", TEXT, FIVE, WALL, False),
    # Dates, truth values, text.
    ("2013-01-01", TEXT, date(2013, 1, 1), DATE, True),
    ("2013-01-01T00:00:00", TEXT, date(2013, 1, 1), DATE, True),
    ("2013-01-01T23:00:00", TEXT, date(2013, 1, 1), DATE, False),  # the time of day was cut off
    ("2013-01-02", TEXT, date(2013, 1, 1), DATE, False),
    ("2013-02-30", TEXT, date(2013, 3, 2), DATE, False),
    ("TRUE", TEXT, True, TRUTH, True),
    ("0", TEXT, False, TRUTH, True),
    ("no", TEXT, True, TRUTH, False),
    ("perhaps", TEXT, True, TRUTH, False),
    ("a", TEXT, "a", TEXT, True),
    ("a", TEXT, "A", TEXT, False),
    ("a ", TEXT, "a", TEXT, False),
]


@pytest.fixture(scope="module", params=["classic", pytest.param("connect", marks=pytest.mark.soak)])
def verdicts(request: pytest.FixtureRequest) -> list[bool]:
    """All cases in one job."""
    if request.param == "classic":
        return _asked(request.getfixturevalue("spark"))
    settings: Settings = request.getfixturevalue("connect_settings")
    with spark_session(settings, app_name="test") as session:
        return _asked(session)


def _asked(spark: SparkSession) -> list[bool]:
    groups: dict[str, list[int]] = {}
    for n, (_, there, _, here, _) in enumerate(CASES):
        groups.setdefault(f"{there.json()} {here.json()}", []).append(n)
    frames: list[DataFrame] = []
    for numbers in groups.values():
        _, there, _, here, _ = CASES[numbers[0]]
        schema = T.StructType().add("n", INT).add("t", there).add("h", here)
        rows = spark.createDataFrame([(n, CASES[n][0], CASES[n][2]) for n in numbers], schema)
        frames.append(rows.select("n", same(TypedValue(F.col("h"), here), TypedValue(F.col("t"), there)).alias("same")))
    verdicts_by_case = {row.n: row.same for row in reduce(DataFrame.unionAll, frames).collect()}
    return [verdicts_by_case[n] for n in range(len(CASES))]


def test_each_pair_of_types(verdicts: list[bool]) -> None:
    wrong = [(case, verdict) for case, verdict in zip(CASES, verdicts, strict=True) if verdict is not case[-1]]
    assert not wrong


def test_what_is_written_of_a_float_is_that_float(spark: SparkSession) -> None:
    """Any bits, in the shortest spelling, in 17 digits, and as the decimal that a person would write."""
    chance = Random(3)
    bits = [struct.unpack("<d", chance.randbytes(8))[0] for _ in range(500)]
    floats = [value for value in bits if math.isfinite(value)] + [chance.uniform(-1e18, 1e18) for _ in range(200)]
    rows = [(text, value) for value in floats for text in (repr(value), f"{value:.17g}", f"{value:.16e}")]
    frame = spark.createDataFrame(rows, T.StructType().add("t", TEXT).add("f", DOUBLE))
    assert not frame.where(~same(TypedValue(F.col("f"), DOUBLE), TypedValue(F.col("t"), TEXT))).limit(5).collect()
    near = spark.createDataFrame(
        [(text, math.nextafter(value, math.inf)) for text, value in rows],
        T.StructType().add("t", TEXT).add("f", DOUBLE),
    )
    assert not near.where(same(TypedValue(F.col("f"), DOUBLE), TypedValue(F.col("t"), TEXT))).limit(5).collect()


def test_an_instant_and_a_wall_time_are_not_compared(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        same(TypedValue(F.col("a"), INSTANT), TypedValue(F.col("b"), WALL))
