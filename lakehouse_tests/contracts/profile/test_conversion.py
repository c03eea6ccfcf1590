"""Converted columns are compared with their originals by key: counts, examples, and what cannot be told."""

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from lakehouse.contracts.profile.conversion import ConversionResult, KeyNotUnique, Pair, compare

pytestmark = pytest.mark.spark

NAMES = ("typed.things", "raw.things")
PAIR = Pair("size", T.IntegerType(), "text", T.StringType(), visible=True)
HIDDEN = Pair("size", T.IntegerType(), "text", T.StringType(), visible=False)


def here(spark: SparkSession, rows: list[tuple[str | None, int | None]]) -> DataFrame:
    return spark.createDataFrame(rows, "id string, size int")


def there(spark: SparkSession, rows: list[tuple[str | None, str | None]]) -> DataFrame:
    return spark.createDataFrame(rows, "id string, text string")


def test_each_outcome_is_counted_and_shown(spark: SparkSession) -> None:
    converted = here(spark, [("a", 1), ("b", 2), ("c", None), ("d", 4), ("e", None), ("f", 6), (None, 9)])
    original = there(spark, [("a", "1"), ("b", "2.5"), ("c", "3"), ("d", None), ("e", None), ("g", "7"), (None, "8")])
    result = compare(converted, original, ("id",), [PAIR], names=NAMES)["size"]
    assert result == ConversionResult(
        rows=6,
        partners=5,
        originals=1,
        same=2,
        changed=1,
        lost=1,
        invented=1,
        examples=(("changed", "b", "2.5", "2"), ("lost", "c", "3", "null"), ("invented", "d", "null", "4")),
    )
    hidden = compare(converted, original, ("id",), [HIDDEN], names=NAMES)["size"]
    assert (hidden.different, hidden.examples) == (3, ())


def test_examples_are_few_and_short(spark: SparkSession) -> None:
    converted = here(spark, [(str(n), n) for n in range(50)])
    original = there(spark, [(str(n), "x" * 500) for n in range(50)])
    result = compare(converted, original, ("id",), [PAIR], names=NAMES)["size"]
    assert result.changed == 50
    assert len(result.examples) == 2
    assert all(len(part) <= 61 for example in result.examples for part in example)


@pytest.mark.parametrize("twice", NAMES)
def test_a_key_that_is_there_twice_is_an_error_and_no_verdict(spark: SparkSession, twice: str) -> None:
    once, again = [("a", 1)], [("a", 1), ("a", 2)]
    converted = here(spark, again if twice == NAMES[0] else once)
    original = there(spark, [(key, str(n)) for key, n in (again if twice == NAMES[1] else once)])
    with pytest.raises(KeyNotUnique, match=rf"^{twice}: 1 keys \(id\)"):
        compare(converted, original, ("id",), [PAIR], names=NAMES)


def test_tables_without_rows(spark: SparkSession) -> None:
    result = compare(here(spark, []), there(spark, []), ("id",), [PAIR], names=NAMES)["size"]
    assert (result.rows, result.partners, result.different) == (0, 0, 0)
