"""Which columns of somebody else's table say which Kafka record a row is of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, StringType

from lakehouse.errors import LakehouseError

# As ours, Iceberg's KafkaMetadataTransform (nested and flat), Spark's and Flink's metadata, and people's habits say.
_KNOWN: tuple[tuple[str, str, str], ...] = (
    ("_kafka_topic", "_kafka_partition", "_kafka_offset"),
    ("_kafka_metadata.topic", "_kafka_metadata.partition", "_kafka_metadata.offset"),
    ("_kafka_metadata_topic", "_kafka_metadata_partition", "_kafka_metadata_offset"),
    ("kafka_topic", "kafka_partition", "kafka_offset"),
    ("__topic", "__partition", "__offset"),
    ("topic", "partition", "offset"),
)


class NoCoordinates(LakehouseError):
    """A column that was named is not there, or is not of a type that it can have."""


@dataclass(frozen=True)
class ColumnNames:
    """What a person says of a table's coordinate columns; a field of a struct is `struct.field`."""

    topic: str = ""
    partition: str = ""
    offset: str = ""


@dataclass(frozen=True)
class CoordinateColumns:
    """Where a row's coordinates are.

    Attributes:
        topic: None where the table does not say; then all its rows are taken for rows of the topic.
        partition: None where the table does not say; only a topic of one partition can be proven then.
        offset: the offset.
    """

    topic: str | None
    partition: str | None
    offset: str

    @property
    def names(self) -> tuple[str, ...]:
        """Those that there are."""
        return tuple(name for name in (self.topic, self.partition, self.offset) if name is not None)


def coordinate_columns(table: str, schema: Schema, names: ColumnNames, *, partitions: int) -> CoordinateColumns | None:
    """Where a table has the coordinates of its rows; None where it has none.

    Args:
        table: its name, for errors.
        schema: its columns.
        names: of those that a person has named; the others are looked for under the names that writers use.
        partitions: of the topic. With one, the offset alone is enough.

    Raises:
        NoCoordinates: a column that was named is not there, or holds no such thing.
    """
    if names != ColumnNames():
        return _named(table, schema, names, partitions)
    for topic, partition, offset in _KNOWN:
        has_partition = _is_number(schema, partition)
        if _is_number(schema, offset) and (has_partition or partitions == 1):
            return CoordinateColumns(
                topic if _is_text(schema, topic) else None, partition if has_partition else None, offset
            )
    return None


def _named(table: str, schema: Schema, names: ColumnNames, partitions: int) -> CoordinateColumns:
    for name, allowed, kind in (
        (names.topic, _is_text, "string"),
        (names.partition, _is_number, "int or long"),
        (names.offset, _is_number, "int or long"),
    ):
        if name and not allowed(schema, name):
            raise NoCoordinates(
                f"{table} has no column {name} of type {kind}.",
                remedy=f"name one of {', '.join(_columns(schema, allowed)) or '(none)'}",
            )
    if not names.offset or (not names.partition and partitions > 1):
        lacking = "--offset-column" if not names.offset else "--partition-column"
        raise NoCoordinates(f"{table}: the coordinates of a row are its partition and offset.", remedy=f"add {lacking}")
    return CoordinateColumns(names.topic or None, names.partition or None, names.offset)


def _columns(schema: Schema, allowed: Callable[[Schema, str], bool]) -> Sequence[str]:
    return [name for name in schema.column_names if allowed(schema, name)]


def _is_number(schema: Schema, name: str) -> bool:
    return name in schema.column_names and isinstance(schema.find_type(name), IntegerType | LongType)


def _is_text(schema: Schema, name: str) -> bool:
    return name in schema.column_names and isinstance(schema.find_type(name), StringType)
