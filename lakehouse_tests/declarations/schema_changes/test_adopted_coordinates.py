"""A table of another writer gets the Kafka coordinates when a person adopts it; in its old rows they are null."""

import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from lakehouse.declarations import WouldLoseData, apply, plan
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake

TABLE = declare({"n": T.LongType(), "s": T.StringType()}, name="raw.taken").with_coordinates()
OWN = (NestedField(1, "n", LongType(), required=False), NestedField(2, "s", StringType(), required=False))


def made(lake: Lake, *more: NestedField) -> None:
    lake.catalog.create_namespace_if_not_exists("raw")
    lake.catalog.create_table("raw.taken", Schema(*OWN, *more))


def test_only_a_person_who_adopts_adds_them(sql_lake: Lake) -> None:
    made(sql_lake)
    with pytest.raises(WouldLoseData, match=r"column _kafka_topic is new and required.*lakehouse adopt <stream>"):
        plan(TABLE, sql_lake.catalog)
    table = apply(plan(TABLE, sql_lake.catalog, adopting=True), sql_lake.catalog)
    added = table.schema().fields[-4:]
    assert [(field.name, field.required) for field in added] == [
        ("_kafka_topic", False),
        ("_kafka_partition", False),
        ("_kafka_offset", False),
        ("_kafka_timestamp", False),
    ]
    assert not plan(TABLE, sql_lake.catalog).changes  # from then on it is as declared


def test_those_of_the_writer_before_are_ours_where_they_are_of_our_types(sql_lake: Lake) -> None:
    made(
        sql_lake,
        NestedField(3, "_kafka_topic", StringType(), required=False),
        NestedField(4, "_kafka_partition", IntegerType(), required=False),
        NestedField(5, "_kafka_offset", LongType(), required=False),
    )
    changes = plan(TABLE, sql_lake.catalog, adopting=True).changes
    added = [str(change) for change in changes if str(change).startswith("add column")]
    assert added == ["add column _kafka_timestamp timestamptz"]


def test_a_partition_of_another_type_has_a_way_out(sql_lake: Lake) -> None:
    made(sql_lake, NestedField(3, "_kafka_partition", LongType(), required=False))
    with pytest.raises(WouldLoseData, match=r"_kafka_partition is long.*RENAME COLUMN.*--partition-column"):
        plan(TABLE, sql_lake.catalog, adopting=True)
