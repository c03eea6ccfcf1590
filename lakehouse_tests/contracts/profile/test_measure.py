"""What Spark measures is what plain counting finds, for every kind of column, on classic Spark and on Connect."""

import math
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812

from lakehouse.contracts.profile.axis import shown
from lakehouse.contracts.profile.measure import CATEGORIES, measure
from lakehouse.declarations import Column
from lakehouse.engines.spark import spark_session
from lakehouse.settings import Settings
from lakehouse_tests.contracts.profile.samples import statistics_of

pytestmark = pytest.mark.spark

ROWS = 400
TYPES: dict[str, T.DataType] = {
    "whole": T.IntegerType(),
    "broken": T.DoubleType(),
    "money": T.DecimalType(12, 2),
    "day": T.DateType(),
    "at": T.TimestampType(),
    "clock": T.TimestampNTZType(),
    "yes": T.BooleanType(),
    "word": T.StringType(),
    "many": T.StringType(),
    "empty": T.DoubleType(),
    "odd": T.FloatType(),
    "wild": T.DoubleType(),
    "endless": T.DoubleType(),
}
COLUMNS = {name: Column(name, kind, required=False) for name, kind in TYPES.items()}


def rows() -> list[dict[str, Any]]:
    chance = Random(7)
    made: list[dict[str, Any]] = []
    for n in range(ROWS):
        moment = datetime(2013, 1, 1) + timedelta(hours=n, microseconds=n)  # noqa: DTZ001 - a wall time, at first
        made.append(
            {
                "whole": None if n % 40 == 0 else round(chance.gauss(0, 30)),
                "broken": chance.gauss(1000, 1),
                "money": Decimal(chance.randrange(10_000)) / 100,
                "day": date(1999, 12, 25) + timedelta(days=n),
                "at": moment.replace(tzinfo=UTC),
                "clock": moment,
                "yes": n % 4 == 0,
                "word": None if n % 10 == 0 else "abc"[n % 3],
                "many": f"value {n}",
                "empty": None,
                "odd": (math.nan, math.inf, -math.inf, None)[n] if n < 4 else float(n),
                "wild": (1e288, -1e288, -5e-324)[n] if n < 3 else float(n),
                "endless": sys.float_info.max if n % 2 else float(n),
            }
        )
    return made


@pytest.fixture(params=["classic", pytest.param("connect", marks=pytest.mark.soak)])
def session(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    if request.param == "classic":
        yield request.getfixturevalue("spark")
        return
    settings: Settings = request.getfixturevalue("connect_settings")
    with spark_session(settings, app_name="test") as opened:
        yield opened


def position(value: Any) -> float | None:
    if isinstance(value, datetime):
        return (value.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)
    if isinstance(value, date):
        return float((value - date(1970, 1, 1)).days)
    return None if value is None or not math.isfinite(value) else float(value)


def test_every_kind_of_column(session: SparkSession) -> None:
    data = rows()
    schema = T.StructType([T.StructField(name, kind) for name, kind in TYPES.items()])
    profiles = measure(
        session.createDataFrame(data, schema), {**COLUMNS, "later": Column("later", T.LongType(), required=False)}
    )
    for name in ("whole", "broken", "money", "day", "at", "clock", "wild"):
        expected = statistics_of([position(row[name]) for row in data])
        here, there = profiles[name].spread, expected.spread
        assert here
        assert there
        assert (profiles[name].rows, profiles[name].missing, profiles[name].odd) == (ROWS, expected.missing, 0)
        assert (here.least, here.greatest) == (there.least, there.greatest)
        assert here.mean == pytest.approx(there.mean, rel=1e-9, abs=1e-9 * max(abs(here.least), here.greatest))
        assert here.quantiles == there.quantiles
        assert here.bins == there.bins
        assert (here.below, here.above) == (there.below, there.above)
    assert (profiles["odd"].missing, profiles["odd"].odd, profiles["odd"].values) == (1, 3, ROWS - 4)
    assert profiles["odd"].spread
    assert profiles["odd"].spread.least == 4
    assert profiles["endless"].spread
    assert (profiles["endless"].odd, profiles["endless"].spread.greatest) == (ROWS / 2, ROWS - 2)
    assert (profiles["empty"].missing, profiles["empty"].spread) == (ROWS, None)
    assert (profiles["later"].missing, profiles["later"].spread) == (ROWS, None)
    assert profiles["yes"].categories == {"false": 300, "true": 100}
    assert (profiles["word"].categories, profiles["word"].others) == ({"b": 120, "c": 120, "a": 120}, 0)
    assert profiles["word"].missing == 40
    assert (len(profiles["many"].categories), profiles["many"].others) == (CATEGORIES, ROWS - CATEGORIES)


def test_a_table_without_rows(spark: SparkSession) -> None:
    schema = T.StructType([T.StructField(name, kind) for name, kind in TYPES.items()])
    profiles = measure(spark.createDataFrame([], schema), COLUMNS)
    assert {
        (profile.rows, profile.missing, profile.spread, len(profile.categories)) for profile in profiles.values()
    } == {(0, 0, None, 0)}


def test_positions_are_read_as_what_they_are() -> None:
    assert shown(15706.0, "date") == "2013-01-01"
    assert shown(1356998400.0, "instant") == "2013-01-01"
    assert shown(1356998401.0, "wall_time") == "2013-01-01 00:00:01"
    assert (shown(2013.0, "number"), shown(336776.0, "number"), shown(0.125, "number")) == ("2013", "336,776", "0.125")
    assert (shown(1e12, "instant"), shown(-1e12, "instant")) == ("after year 9999", "before year 1")
