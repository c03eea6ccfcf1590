"""Several topics as one state: who joins, who is gone, and that numbers are never given twice."""

import pytest

from lakehouse.engines.kafka.several_topics import stream_topics
from lakehouse.engines.kafka.several_topics.stream_topics import TooManyTopics, joined_state
from lakehouse.engines.kafka.several_topics.topic_numbers import STRIDE
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import PartitionRange, TopicState


def state(name: str, *ends: int, topic_id: str = "") -> TopicState:
    ranges = {p: PartitionRange(0, end) for p, end in enumerate(ends)}
    return TopicState(name, "c", topic_id or f"id-{name}", ranges, leader_epochs=dict.fromkeys(ranges, 4))


def join(*states: TopicState, previous: KafkaStatement | None = None) -> TopicState:
    return joined_state("shop", "/.+/", {s.topic: s for s in states}, previous)


def sealed(topic: TopicState) -> KafkaStatement:
    ends = {p: limits.last_stable for p, limits in topic.partitions.items()}
    return KafkaStatement("c", topic.topic, topic.topic_id, ends, ends, topics=topic.topics)


def test_topics_are_numbered_by_name_at_first() -> None:
    topic = join(state("b", 5, 6), state("a", 7))
    assert topic.numbers.names == ("a", "b")
    assert topic.partitions == {0: (0, 7), STRIDE: (0, 5), STRIDE + 1: (0, 6)}
    assert topic.leader_epochs == {0: 4, STRIDE: 4, STRIDE + 1: 4}
    assert (topic.absent, topic.joining) == (frozenset(), frozenset())


def test_a_topic_that_comes_later_gets_the_next_number() -> None:
    topic = join(state("b", 5), state("a", 7), previous=sealed(join(state("b", 5))))
    assert topic.numbers.names == ("b", "a")
    assert topic.joining == {"a"}


def test_a_topic_that_is_gone_keeps_number_and_position_and_is_named() -> None:
    topic = join(state("b", 5), previous=sealed(join(state("a", 7), state("b", 5))))
    assert (topic.numbers.names, topic.absent) == (("a", "b"), {"a"})
    assert topic.partitions == {0: (7, 7), STRIDE: (0, 5)}


def test_a_topic_that_was_made_anew_keeps_its_number_and_has_another_id() -> None:
    topic = join(state("a", 7, topic_id="new"), previous=sealed(join(state("a", 7))))
    assert topic.topics == (("a", "new"),)


def test_a_stream_of_one_topic_goes_on_as_one_of_several() -> None:
    before = KafkaStatement("c", "b", "id-b", {0: 0}, {0: 5})
    topic = join(state("a", 7), state("b", 9), previous=before)
    assert (topic.numbers.names, topic.partitions) == (("b", "a"), {0: (0, 9), STRIDE: (0, 7)})


def test_more_topics_than_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_topics, "MOST_TOPICS", 2)
    with pytest.raises(TooManyTopics, match="are 3 topics, and a stream reads 2 at most"):
        join(*(state(name, 1) for name in "abc"))
