"""Tables as other writers make them, written by PyIceberg."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from lakehouse_tests.fixtures.lakes import Lake

COORDINATES = Schema(
    NestedField(1, "name", StringType(), required=False),
    NestedField(2, "topic", StringType(), required=False),
    NestedField(3, "partition", IntegerType(), required=False),
    NestedField(4, "offset", LongType(), required=False),
)
PLAIN = Schema(NestedField(1, "name", StringType(), required=False))
Row = tuple[str | None, int | None, int | None]


def rows(partition: int, offsets: Sequence[int], topic: str = "birds") -> list[Row]:
    """Rows of these records."""
    return [(topic, partition, offset) for offset in offsets]


def table_of(
    lake: Lake, *commits: Sequence[Row], name: str = "a", properties: Mapping[str, str] | None = None
) -> Table:
    """A table with coordinates, a commit for each list of rows."""
    table = lake.load(lake.create(name, COORDINATES))
    for commit in commits:
        frame = pa.table(
            [
                pa.array([f"bird {offset}" for _, _, offset in commit], pa.string()),
                pa.array([topic for topic, _, _ in commit], pa.string()),
                pa.array([partition for _, partition, _ in commit], pa.int32()),
                pa.array([offset for _, _, offset in commit], pa.int64()),
            ],
            names=["name", "topic", "partition", "offset"],
        )
        table.append(frame, snapshot_properties=dict(properties or {}))
    return table


def plain_table(lake: Lake, names: Sequence[str], name: str = "plain") -> Table:
    """A table without coordinates."""
    table = lake.load(lake.create(name, PLAIN))
    table.append(pa.table({"name": pa.array(names, pa.string())}))
    return table
