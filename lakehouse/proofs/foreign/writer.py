"""Who wrote a table, by the marks that writers leave in snapshots; and how each can add coordinates to its rows."""

from datetime import UTC, datetime
from typing import NamedTuple

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of


class Writer(NamedTuple):
    """A kind of writer.

    Attributes:
        name: for a person.
        mark: prefix of the keys that it leaves in the summary of a snapshot.
        commit: the key that tells its commits apart.
        transform: what lets it write the coordinates of each record.
    """

    name: str
    mark: str
    commit: str
    transform: str


_CONNECT = Writer(
    "the Iceberg sink of Kafka Connect",
    "kafka.connect.",
    "kafka.connect.commit-id",
    "transforms=coordinates, transforms.coordinates.type=org.apache.kafka.connect.transforms.InsertField$Value, "
    "transforms.coordinates.topic.field=_kafka_topic, transforms.coordinates.partition.field=_kafka_partition, "
    "transforms.coordinates.offset.field=_kafka_offset",
)
_FLINK = Writer(
    "Flink",
    "flink.",
    "flink.max-committed-checkpoint-id",
    "the metadata columns of its Kafka source: `partition` INT METADATA, `offset` BIGINT METADATA",
)
_STREAMING = Writer(
    "Spark Structured Streaming",
    "spark.sql.streaming.",
    "spark.sql.streaming.epochId",
    "the columns topic, partition and offset of its Kafka source, which a select has left out",
)
_WRITERS = (_CONNECT, _FLINK, _STREAMING)


def writer_of(table: Table) -> Writer | None:
    """Who wrote the newest of a table's snapshots that has a writer's mark."""
    for snapshot in ancestors_of(table.current_snapshot(), table.metadata):
        for writer in _WRITERS:
            if any(key.startswith(writer.mark) for key in _keys(snapshot)):
                return writer
    return None


def transform_for(writer: Writer | None) -> str:
    """What has to be changed so that each row says of which record it is."""
    if writer is not None:
        return writer.transform
    return "; or ".join(f"with {known.name}: {known.transform}" for known in _WRITERS)


def commit_of(table: Table, snapshot_id: int | None) -> str:
    """A snapshot for a person: its id, its time, and what its writer calls the commit."""
    snapshot = None if snapshot_id is None else table.metadata.snapshot_by_id(snapshot_id)
    if snapshot is None:
        return f"snapshot {snapshot_id}, which has expired"
    keys = _keys(snapshot)
    named = next((f", {writer.commit} {keys[writer.commit]}" for writer in _WRITERS if writer.commit in keys), "")
    return f"snapshot {snapshot_id} ({_time(snapshot)}{named})"


def _keys(snapshot: Snapshot) -> dict[str, str]:
    return dict(snapshot.summary.additional_properties) if snapshot.summary else {}


def _time(snapshot: Snapshot) -> str:
    return f"{datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
