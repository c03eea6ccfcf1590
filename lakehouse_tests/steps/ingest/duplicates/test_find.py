"""Which records are duplicates: Spark's answer is that of a loop over the records, in the order of their arrival."""

import random
from datetime import UTC, datetime, timedelta

import pyspark.sql.types as T  # noqa: N812
import pytest
from pyspark.sql import SparkSession

from lakehouse.declarations import DropDuplicates
from lakehouse.steps.ingest.duplicates.find import duplicates, type_names

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
ROW = T.StructType(
    [
        T.StructField("shop", T.StringType()),
        T.StructField("at", T.TimestampType()),
        T.StructField("_kafka_partition", T.IntegerType()),
        T.StructField("_kafka_offset", T.LongType()),
        T.StructField("_kafka_timestamp", T.TimestampType()),
    ]
)
Row = tuple[str | None, datetime | None, int, int, datetime]


def by_a_loop(new: list[Row], known: list[Row], within: timedelta | None) -> set[tuple[int, int]]:
    """The rules, told once more: nothing of the product's."""
    kept: dict[str, list[datetime]] = {}
    gone: set[tuple[int, int]] = set()
    for shop, moment, *_ in known:
        if shop is not None and (moment is not None or within is None):
            kept.setdefault(shop, []).append(moment or BEGAN)
    for shop, moment, partition, offset, _ in sorted(new, key=lambda row: (row[4], row[2], row[3])):
        if shop is None or (moment is None and within is not None):
            continue
        if any(within is None or (moment is not None and abs(moment - time) <= within) for time in kept.get(shop, [])):
            gone.add((partition, offset))
        else:
            kept.setdefault(shop, []).append(moment or BEGAN)
    return gone


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("within", [None, timedelta(minutes=30)], ids=["by key", "within a watermark"])
def test_spark_and_a_loop_agree(spark: SparkSession, within: timedelta | None) -> None:
    chance = random.Random(7)

    def rows(first: int, count: int) -> list[Row]:
        return [
            (
                chance.choice(['"a\\', "b", "ä", "", None, *map(str, range(60))]),
                None if chance.random() < 0.05 else BEGAN + timedelta(seconds=chance.randrange(20_000)),
                offset % 3,
                offset,
                BEGAN + timedelta(milliseconds=chance.randrange(50)),
            )
            for offset in range(first, first + count)
        ]

    known, new = rows(0, 300), rows(1000, 500)
    frame = spark.createDataFrame(new, ROW)
    policy = DropDuplicates(key=("shop",), time="at" if within else None, within=within)
    dropped = duplicates(frame, spark.createDataFrame(known, ROW), policy, ("shop",), type_names(ROW)).collect()
    alone = duplicates(frame, None, policy, ("shop",), type_names(ROW)).collect()
    assert {(row["partition"], row["offset"]) for row in dropped} == by_a_loop(new, known, within)
    assert {(row["partition"], row["offset"]) for row in alone} == by_a_loop(new, [], within)
    assert len(dropped) == len({(row["partition"], row["offset"]) for row in dropped}) > 0
