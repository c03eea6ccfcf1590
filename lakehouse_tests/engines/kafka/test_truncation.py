"""A log that was cut below a position and filled beyond it is told from one that was not.

Guarded mechanism: the broker is asked where the position's leader epoch ended. On one broker nobody can be elected that
lacks records, so the partition's files go while it is down: then it is what such an election leaves.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest
from confluent_kafka import TopicPartition

from lakehouse.engines.kafka import LocalBroker, PartitionRange, Record, create_topic, read_topic, send
from lakehouse.engines.kafka import truncation as module
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.engines.kafka.truncation import with_truncation
from lakehouse.settings import KafkaSettings
from lakehouse.settings.state import StateFolder
from lakehouse_tests.fixtures.broker import BROKER_LOCK

NOBODY = KafkaSettings(bootstrap_servers="127.0.0.1:1")
TOPIC = TopicState("birds", "c", "i", {0: PartitionRange(0, 12)}, {0: 4})
READ = KafkaStatement("c", "birds", "i", {0: 0}, {0: 10}, leader_epochs={0: 3})


@pytest.fixture
def local(empty_state: StateFolder) -> Iterator[LocalBroker]:
    broker = LocalBroker(empty_state, BROKER_LOCK)
    broker.start()
    yield broker
    broker.stop()


@pytest.mark.kafka
@pytest.mark.slow
def test_a_log_that_was_cut_and_filled_beyond_the_position_is_known(
    local: LocalBroker, empty_state: StateFolder
) -> None:
    create_topic(local.settings, "birds", 1)
    send(local.settings, "birds", [Record(b"old") for _ in range(10)])
    read = read_topic(local.settings, "birds")
    sealed = KafkaStatement(read.cluster_id, "birds", read.topic_id, {0: 0}, {0: 10}, leader_epochs=read.leader_epochs)
    local.stop()
    local.start()  # it has led before, and leads anew
    again = read_topic(local.settings, "birds")
    assert again.leader_epochs != read.leader_epochs
    assert with_truncation(local.settings, again, sealed).truncated == frozenset()
    local.stop()
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "birds-0/*"):
        for file in empty_state.root.rglob(name):
            if file.name != "partition.metadata":
                file.unlink()
    local.start()
    send(local.settings, "birds", [Record(b"new") for _ in range(15)])
    filled = read_topic(local.settings, "birds")
    assert (filled.topic_id, filled.partitions) == (read.topic_id, {0: PartitionRange(0, 15)})
    assert with_truncation(local.settings, filled, sealed).truncated == {0}


@pytest.mark.parametrize(
    ("topic", "read"),
    [
        (TOPIC, None),
        (TOPIC, replace(READ, leader_epochs={})),
        (TOPIC, replace(READ, leader_epochs={0: 4})),
        (TOPIC, replace(READ, topic_id="another")),
        (replace(TOPIC, leader_epochs={}), READ),
        (replace(TOPIC, partitions={0: PartitionRange(0, 9)}), READ),
        (TOPIC, replace(READ, end={0: 0})),
    ],
    ids=["new", "old seal", "same leader", "other topic", "untold", "beyond the end", "nothing read"],
)
def test_nobody_is_asked_where_there_is_nothing_to_ask(topic: TopicState, read: KafkaStatement | None) -> None:
    assert with_truncation(NOBODY, topic, read) is topic


def test_no_answer_is_no_good_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.1)
    with pytest.raises(module.BrokerUnreachable):
        with_truncation(NOBODY, TOPIC, READ)


class _OnePartitionFillsTheQueue:
    """librdkafka's consumer, as it was seen: while records of one partition wait, no other is fetched."""

    def __init__(self, *_: object, **__: object) -> None:
        self.waiting = [0, 1, 2]

    def assign(self, _: object) -> None:
        pass

    def close(self) -> None:
        pass

    def pause(self, partitions: list[TopicPartition]) -> None:
        self.waiting = [p for p in self.waiting if p not in {paused.partition for paused in partitions}]

    def poll(self, _: float) -> "_Answer | None":
        return _Answer(self.waiting[0]) if self.waiting else None


class _Answer(NamedTuple):
    number: int

    def partition(self) -> int:
        return self.number

    def error(self) -> None:
        return None


@pytest.mark.timeout(20)
def test_a_partition_that_has_answered_makes_room_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one had many records, the others were not asked, and the stream stood still."""
    monkeypatch.setattr(module, "Consumer", _OnePartitionFillsTheQueue)
    assert module.truncated(NOBODY, "birds", dict.fromkeys(range(3), (10, 3))) == frozenset()
