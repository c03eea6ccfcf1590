"""What the topics of a stream hold, as one state: partitions are stream partitions, see `topic_numbers`.

A topic that the stream knows and that is gone, or not declared any more, keeps its position: it has nothing to read.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from lakehouse.engines.kafka.connection import TopicMissing
from lakehouse.engines.kafka.oversized import Oversized, first_oversized
from lakehouse.engines.kafka.peek import oldest_unread_time, sample_record_bytes
from lakehouse.engines.kafka.several_topics.topic_numbers import MOST_TOPICS, TopicNumbers
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import PartitionRange, TopicState, offsets_at, read_topic, read_topics, topic_names
from lakehouse.errors import LakehouseError
from lakehouse.settings import KafkaSettings


class TooManyTopics(LakehouseError):
    """More topics match than a stream can number."""


class TopicChoice(Protocol):
    """Which topics a stream reads."""

    def chosen(self, existing: Collection[str]) -> list[str]:
        """Of those that exist."""
        ...


class ReadsTopics(Protocol):
    """What is asked of a stream: its one topic, or which of several."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def topic(self) -> str:
        """Its one topic, or what messages call its topics."""
        ...

    @property
    def topics(self) -> TopicChoice | None:
        """Which of several it reads."""
        ...


def read_stream_topics(kafka: KafkaSettings, stream: ReadsTopics, previous: KafkaStatement | None) -> TopicState:
    """Ask the cluster what a stream's topics hold.

    Args:
        kafka: how to reach the cluster.
        stream: whose topics.
        previous: what its tables say; None where it has not begun.

    Raises:
        BrokerUnreachable: no broker answered.
        TopicMissing: a topic that is named does not exist, or no topic matches.
        TooManyTopics: more match than a stream can number.
    """
    if stream.topics is None and not (previous and previous.topics):
        return read_topic(kafka, stream.topic)
    wanted = [stream.topic] if stream.topics is None else stream.topics.chosen(topic_names(kafka))
    if not wanted and previous is None:
        raise TopicMissing(
            f"Stream {stream.name}: the cluster at {kafka.bootstrap_servers} has no topic that matches {stream.topic}.",
            remedy="create one, or correct the pattern",
        )
    return joined_state(stream.name, stream.topic, read_topics(kafka, wanted), previous)


def joined_state(
    stream: str, label: str, states: Mapping[str, TopicState], previous: KafkaStatement | None
) -> TopicState:
    """One state of several topics; pure.

    Args:
        stream: its name, for messages.
        label: what messages call its topics.
        states: topic → what it holds, of those that exist and are declared.
        previous: what the tables say.

    Raises:
        TooManyTopics: more than a stream can number.
    """
    known = previous.numbers.topics if previous else ()
    new = sorted(states.keys() - dict(known).keys())
    topics = [(name, states[name].topic_id if name in states else topic_id) for name, topic_id in known]
    topics += [(name, states[name].topic_id) for name in new]
    if len(topics) > MOST_TOPICS:
        raise TooManyTopics(
            f"Stream {stream}: {label} are {len(topics)} topics, and a stream reads {MOST_TOPICS} at most.",
            remedy="declare several streams, each with a narrower pattern",
        )
    numbers = TopicNumbers(tuple(topics), many=True)
    partitions: dict[int, PartitionRange] = {}
    leader_epochs: dict[int, int] = {}
    for name, state in states.items():
        partitions |= numbers.of_topic(name, state.partitions)
        leader_epochs |= numbers.of_topic(name, state.leader_epochs)
    for partition, end in (previous.end if previous else {}).items():
        if numbers.split(partition)[0] not in states:
            partitions[partition] = PartitionRange(end, end)
    cluster_id = next((state.cluster_id for state in states.values()), previous.cluster_id if previous else "")
    return TopicState(
        topic=label,
        cluster_id=cluster_id,
        topic_id=topics[0][1],
        partitions=dict(sorted(partitions.items())),
        leader_epochs=leader_epochs,
        topics=tuple(topics),
        absent=frozenset(dict(known).keys() - states.keys()),
        joining=frozenset(new) if previous else frozenset(),
    )


def again(kafka: KafkaSettings, topic: TopicState) -> TopicState:
    """The same topics, asked once more; those that came meanwhile are left to the next run.

    Raises:
        BrokerUnreachable: no broker answered.
        TopicMissing: the one topic of a stream does not exist any more.
    """
    if not topic.topics:
        return read_topic(kafka, topic.topic)
    numbers = topic.numbers
    states = read_topics(kafka, [name for name in numbers.names if name not in topic.absent])
    partitions = dict(topic.partitions)
    for name, state in states.items():
        partitions |= numbers.of_topic(name, state.partitions)
    topics = tuple((name, states[name].topic_id if name in states else topic_id) for name, topic_id in topic.topics)
    return replace(topic, partitions=partitions, topics=topics, topic_id=topics[0][1])


def per_topic(
    topic: TopicState, values: Mapping[int, int], ask: Callable[[str, dict[int, int]], dict[int, int]]
) -> dict[int, int]:
    """Ask about some partitions, topic by topic; stream partition → answer."""
    answers: dict[int, int] = {}
    for name, of_topic in topic.numbers.by_topic(values).items():
        if name not in topic.absent:
            answers |= topic.numbers.of_topic(name, ask(name, of_topic))
    return answers


def stream_offsets_at(kafka: KafkaSettings, topic: TopicState, when: datetime) -> dict[int, int]:
    """Like `offsets_at`, of all topics of a stream."""
    starts = {partition: limits.earliest for partition, limits in topic.partitions.items()}
    return per_topic(topic, starts, lambda name, _: offsets_at(kafka, name, when))


def oldest_unread(kafka: KafkaSettings, topic: TopicState, positions: Mapping[int, int]) -> datetime | None:
    """Like `oldest_unread_time`, of all topics of a stream."""
    unread = {p: start for p, start in positions.items() if start < topic.partitions[p].last_stable}
    moments = (oldest_unread_time(kafka, name, of) for name, of in topic.numbers.by_topic(unread).items())
    return min((moment for moment in moments if moment is not None), default=None)


def mean_record_bytes(kafka: KafkaSettings, topic: TopicState, starts: Mapping[int, int]) -> float:
    """Like `sample_record_bytes`: the mean of the topics that have something to read."""
    unread = {p: start for p, start in starts.items() if start < topic.partitions[p].last_stable}
    means = [sample_record_bytes(kafka, name, of) for name, of in topic.numbers.by_topic(unread).items()]
    sizes = [size for size in means if size]
    return sum(sizes) / len(sizes) if sizes else 0.0


def oversized_record(
    kafka: KafkaSettings, topic: TopicState, ranges: Mapping[int, tuple[int, int]]
) -> Oversized | None:
    """Like `first_oversized`: the first of the first topic that has one."""
    for name, of_topic in topic.numbers.by_topic(ranges).items():
        if (record := first_oversized(kafka, name, of_topic)) is not None:
            return Oversized(topic.numbers.stream_partition(name, record.partition), record.offset)
    return None
