"""A position written into a consumer group, for tools that watch lag. Nobody of ours reads it, and nobody joins it."""

from collections.abc import Mapping

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from lakehouse.engines.kafka.connection import Connection
from lakehouse.engines.kafka.topics import patient
from lakehouse.settings import KafkaSettings


def group_of(kafka: KafkaSettings, stream: str) -> str:
    """The consumer group of a stream."""
    return f"{kafka.group_prefix}{stream}"


@patient
def set_group_offsets(kafka: KafkaSettings, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Set a group's offsets of a topic; the group comes into being where there is none.

    Args:
        kafka: how to reach the cluster.
        group: its name.
        topic: the topic.
        offsets: partition → the next offset to read.

    Raises:
        BrokerUnreachable: no broker answered, or we were not let in.
        KafkaForbidden: the access lists let us not read the topic, or not with this group.
        KafkaRefused: any other error; somebody has joined the group, for example.
    """
    wanted = [TopicPartition(topic, partition, offset) for partition, offset in sorted(offsets.items())]
    with Connection(kafka) as connection:
        try:
            futures = connection.admin.alter_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group, wanted)], request_timeout=connection.timeout
            )
        except KafkaException as error:
            raise connection.explained(error.args[0], topic) from error
        for partition in connection.answer(futures[group], topic=topic).topic_partitions or []:
            if partition.error is not None:
                raise connection.explained(partition.error, topic)
