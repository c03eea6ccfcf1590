"""A table that the real Iceberg sink of Kafka Connect has filled: proven; and its duplicates named once it is rewound.

`docs/how-to/audit-foreign.md` has its commands.

Guarded mechanism: offsets that two rows have are found among all files, and the commits that brought them.
"""

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from lakehouse.engines.kafka import Record, client_config, create_topic, send
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.iceberg_sink import SinkWorker
from lakehouse_tests.orchestration.assets.house import PARTITIONS, House

TABLE = "raw.by_connect"
SINK = "birds-sink"
COORDINATES = {
    "transforms": "coordinates",
    "transforms.coordinates.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.coordinates.topic.field": "_kafka_topic",
    "transforms.coordinates.partition.field": "_kafka_partition",
    "transforms.coordinates.offset.field": "_kafka_offset",
}
COLUMNS = Schema(
    NestedField(1, "name", StringType(), required=False),
    NestedField(2, "count", LongType(), required=False),
    NestedField(3, "_kafka_topic", StringType(), required=False),
    NestedField(4, "_kafka_partition", IntegerType(), required=False),
    NestedField(5, "_kafka_offset", LongType(), required=False),
)


def rewind(broker: KafkaSettings, group: str, topic: str) -> None:
    """Set a group back to the beginning, as soon as its last member has left."""
    consumer = Consumer({**client_config(broker), "group.id": group})
    deadline = time.monotonic() + 60
    while True:
        try:
            consumer.commit(offsets=[TopicPartition(topic, p, 0) for p in range(PARTITIONS)], asynchronous=False)
            break
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    consumer.close()


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.kafka
def test_what_a_rewound_sink_wrote_twice_is_named(
    house: House, tmp_path: Path, jars: Path, broker: KafkaSettings
) -> None:
    catalog = house.lake().catalog
    catalog.create_namespace_if_not_exists("raw")
    catalog.create_table(TABLE, COLUMNS)
    create_topic(broker, f"control-{SINK}", 1)
    house.birds(40)
    send(broker, house.topic, [Record(None, key=b"tit 7", partition=0)])
    asked = ("audit", "--foreign", TABLE, "--topic", house.topic, "--group", f"connect-{SINK}")
    with SinkWorker(tmp_path / "connect", jars, broker, house.settings.catalog, catalog) as worker:
        worker.start(SINK, house.topic, TABLE, COORDINATES)
        worker.wait_for_rows(SINK, TABLE, 40)
        proven = json.loads(house.command(*asked, "--json").stdout)
        assert (proven["verdict"], proven["decided_by"], proven["rows"]) == ("proven", "coordinates", 40)
        assert "Kafka Connect" in proven["writer"]
        assert "PROVEN by coordinates" in house.command(*asked).stdout

        worker.remove(SINK)
        rewind(broker, f"connect-{SINK}", house.topic)
        worker.start(SINK, house.topic, TABLE, COORDINATES)
        worker.wait_for_rows(SINK, TABLE, 80)
    disproved = json.loads(house.command(*asked, "--json", exit_code=1).stdout)
    repeated = {finding["partition"]: finding for finding in disproved["findings"]}
    assert {finding["kind"] for finding in repeated.values()} == {"repeated"}
    assert [repeated[p]["offsets"] for p in range(PARTITIONS)] == ["[0, 20)", "[0, 20)"]
    snapshots = [snapshot.snapshot_id for snapshot in catalog.load_table(TABLE).metadata.snapshots]
    assert all(f"snapshot {snapshot}" in repeated[0]["message"] for snapshot in (snapshots[0], snapshots[-1]))
    assert "kafka.connect.commit-id" in repeated[0]["message"]
