"""Coordinates are found under the names that writers give them, and under those that a person says."""

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType

from lakehouse.proofs.foreign.coordinate_columns import (
    ColumnNames,
    CoordinateColumns,
    NoCoordinates,
    coordinate_columns,
)


def schema(*names: str) -> Schema:
    types = {"topic": StringType(), "partition": IntegerType(), "offset": LongType()}
    fields = [
        NestedField(number, name, next((kind for end, kind in types.items() if name.endswith(end)), StringType()))
        for number, name in enumerate(names, 1)
    ]
    return Schema(*fields)


def coordinates_of(table: Schema, *names: str, partitions: int = 2) -> CoordinateColumns | None:
    return coordinate_columns("raw.birds", table, ColumnNames(*names), partitions=partitions)


@pytest.mark.parametrize(
    "names", [("topic", "partition", "offset"), ("_kafka_topic", "_kafka_partition", "_kafka_offset")]
)
def test_names_that_writers_use(names: tuple[str, str, str]) -> None:
    assert coordinates_of(schema("name", *names)) == CoordinateColumns(*names)
    assert coordinates_of(schema("name", *names[1:])) == CoordinateColumns(None, *names[1:])


def test_fields_of_the_struct_that_the_connect_transform_makes() -> None:
    fields = schema("topic", "partition", "offset").fields
    nested = Schema(NestedField(9, "_kafka_metadata", StructType(*fields)))
    columns = coordinates_of(nested)
    assert columns is not None
    assert columns.names == ("_kafka_metadata.topic", "_kafka_metadata.partition", "_kafka_metadata.offset")


def test_the_offset_alone_is_enough_for_one_partition() -> None:
    assert coordinates_of(schema("offset"), partitions=1) == CoordinateColumns(None, None, "offset")
    assert coordinates_of(schema("offset")) is None
    assert coordinates_of(schema("name")) is None


def test_names_of_a_person_are_taken_or_refused() -> None:
    table = schema("t_topic", "p_partition", "o_offset", "name")
    assert coordinates_of(table, "t_topic", "p_partition", "o_offset") == CoordinateColumns(
        "t_topic", "p_partition", "o_offset"
    )
    with pytest.raises(NoCoordinates, match=r"no column name of type int or long.*p_partition, o_offset"):
        coordinates_of(table, "", "name", "o_offset")
    with pytest.raises(NoCoordinates, match="--partition-column"):
        coordinates_of(table, "", "", "o_offset")
    with pytest.raises(NoCoordinates, match="--offset-column"):
        coordinates_of(table, "", "p_partition", "")
