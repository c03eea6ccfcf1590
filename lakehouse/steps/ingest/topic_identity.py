"""Whether a topic is still the log that was read: not another cluster's, not made anew, not cut."""

from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.steps.ingest.refusals import (
    ClusterChanged,
    LogTruncated,
    PartitionsVanished,
    PositionBeyondEnd,
    Ranges,
    TopicRecreated,
)


def require_same_log(stream: str, previous: KafkaStatement, topic: TopicState) -> None:
    """Refuse a topic that is not, or no longer wholly, the one that was read.

    Raises:
        IngestRefused: one of its kinds.
    """
    read = {partition: (0, end) for partition, end in previous.end.items()}
    if previous.cluster_id != topic.cluster_id:
        raise ClusterChanged(stream, topic.topic, previous.cluster_id, topic.cluster_id, read)
    if not previous.topics and previous.topic_id != topic.topic_id:
        raise TopicRecreated(stream, topic.topic, previous.topic_id, topic.topic_id, read)
    for name, (was, now) in previous.numbers.renewed(topic.numbers).items():
        raise TopicRecreated(stream, name, was, now, of_topic(previous.numbers, name, read), topic.numbers)
    if vanished := {partition: span for partition, span in read.items() if partition not in topic.partitions}:
        raise PartitionsVanished(stream, topic.topic, vanished, topic.numbers)
    if beyond := {
        partition: (topic.partitions[partition].last_stable, end)
        for partition, end in previous.end.items()
        if end > topic.partitions[partition].last_stable
    }:
        raise PositionBeyondEnd(stream, topic.topic, beyond, topic.numbers)
    if cut := {partition: span for partition, span in read.items() if partition in topic.truncated}:
        raise LogTruncated(stream, topic.topic, cut, topic.numbers)


def require_unchanged(stream: str, planned: TopicState, ranges: Ranges, topic: TopicState) -> None:
    """Refuse ranges that were read if the topic became another one since they were planned.

    Raises:
        TopicRecreated: the name belongs to another topic now.
    """
    numbers = planned.numbers
    for name, (was, now) in numbers.renewed(topic.numbers).items():
        raise TopicRecreated(stream, name, was, now, of_topic(numbers, name, ranges), numbers)


def of_topic(numbers: TopicNumbers, topic: str, ranges: Ranges) -> Ranges:
    """The ranges of one topic's partitions."""
    return {partition: span for partition, span in ranges.items() if numbers.split(partition)[0] == topic}
