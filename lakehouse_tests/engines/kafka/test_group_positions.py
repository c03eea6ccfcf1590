"""Where a group stands is what it has committed; one that has committed nothing is refused by name."""

import pytest
from confluent_kafka import Consumer, TopicPartition

from lakehouse.engines.kafka import BrokerUnreachable, client_config
from lakehouse.engines.kafka.group_positions import GroupMissing, committed_positions, group_of, set_group_offsets
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


def test_a_group_is_the_prefix_and_the_stream() -> None:
    assert group_of(KafkaSettings(bootstrap_servers="a:1"), "flights") == "lakehouse-flights"
    assert group_of(KafkaSettings(bootstrap_servers="a:1", group_prefix="team."), "flights") == "team.flights"


def test_a_broker_that_is_away_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakehouse.engines.kafka.connection.Connection.__init__.__kwdefaults__", {"timeout": 0.2})
    with pytest.raises(BrokerUnreachable, match=r"127\.0\.0\.1:1"):
        set_group_offsets(KafkaSettings(bootstrap_servers="127.0.0.1:1"), "g", "t", {0: 1})
