"""A record that packs well is found by its size, before anybody has to unpack it in Spark."""

import pytest
from confluent_kafka import Producer

from lakehouse.engines.kafka import Oversized, Record, client_config, first_oversized, sample_record_bytes, send
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.broker import TopicFactory

pytestmark = pytest.mark.kafka
LIMIT = 8 << 20


@pytest.mark.parametrize("packed_by", ["zstd", "gzip"])
def test_it_is_named_by_its_offset(broker: KafkaSettings, topic: TopicFactory, packed_by: str):
    name = topic(partitions=2)
    send(broker, name, [Record(b"small", partition=0)] * 3 + [Record(b"small", partition=1)])
    producer = Producer({**client_config(broker), "compression.type": packed_by, "message.max.bytes": 4 * LIMIT})
    producer.produce(name, b"\0" * (2 * LIMIT), partition=0)
    producer.flush()
    send(broker, name, [Record(b"small", partition=0)] * 2)
    assert first_oversized(broker, name, {0: (0, 6), 1: (0, 1)}, limit=LIMIT) == Oversized(0, 3)
    assert first_oversized(broker, name, {0: (0, 3), 1: (0, 1)}, limit=LIMIT) is None
    assert first_oversized(broker, name, {0: (4, 6)}, limit=LIMIT) is None
    assert first_oversized(broker, name, {0: (0, 6)}, limit=4 * LIMIT) is None


def test_a_first_run_takes_the_size_of_records_from_what_can_be_unpacked(broker: KafkaSettings, topic: TopicFactory):
    name = topic()
    send(broker, name, [Record(b"x" * 100)] * 3)
    producer = Producer({**client_config(broker), "compression.type": "zstd", "message.max.bytes": 200 << 20})
    producer.produce(name, b"\0" * (120 << 20))
    producer.flush()
    assert sample_record_bytes(broker, name, {0: 0}) == 100
    assert sample_record_bytes(broker, name, {0: 3}) == 0
