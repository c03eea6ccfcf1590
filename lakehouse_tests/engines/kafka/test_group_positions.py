"""Where a group stands is what it has committed; one that has committed nothing is refused by name."""

import pytest
from confluent_kafka import Consumer, TopicPartition

from lakehouse.engines.kafka import client_config
from lakehouse.engines.kafka.group_positions import GroupMissing, committed_positions
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.broker import TopicFactory

pytestmark = pytest.mark.kafka


def test_committed_positions(broker: KafkaSettings, topic: TopicFactory) -> None:
    name = topic(partitions=2)
    consumer = Consumer({**client_config(broker), "group.id": f"group-of-{name}"})
    consumer.commit(offsets=[TopicPartition(name, 1, 7)], asynchronous=False)
    consumer.close()
    assert committed_positions(broker, name, f"group-of-{name}", [0, 1]) == {1: 7}
    with pytest.raises(GroupMissing, match=f"group nobody has no committed offset of topic {name}.*connect-"):
        committed_positions(broker, name, "nobody", [0, 1])
