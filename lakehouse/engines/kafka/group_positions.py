"""Where a consumer group says that it has come to, and who is in it; a position of ours, written for lag tools.

Nobody of ours reads what is written, and nobody joins that group.
"""

from collections.abc import Iterable, Mapping

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from lakehouse.engines.kafka.clients import onlooker_config
from lakehouse.engines.kafka.connection import LIBRDKAFKA_LOG, TIMEOUT, Connection
from lakehouse.engines.kafka.topics import patient
from lakehouse.errors import LakehouseError
from lakehouse.settings import KafkaSettings


class GroupMissing(LakehouseError):
    """The group has no position in this topic."""


def committed_positions(kafka: KafkaSettings, topic: str, group: str, partitions: Iterable[int]) -> dict[int, int]:
    """Partition → the next offset that a group would read, of those that it has committed.

    Raises:
        BrokerUnreachable: no broker answered.
        GroupMissing: it has committed nothing of this topic, or its positions have expired.
    """
    consumer = Consumer({**onlooker_config(kafka, "positions"), "group.id": group}, logger=LIBRDKAFKA_LOG)
    try:
        answers = consumer.committed([TopicPartition(topic, partition) for partition in partitions], timeout=TIMEOUT)
    except KafkaException as error:
        with Connection(kafka) as connection:
            raise connection.explained(error.args[0], topic) from error
    finally:
        consumer.close()
    positions = {answer.partition: answer.offset for answer in answers if answer.offset >= 0}
    if not positions:
        raise GroupMissing(
            f"Consumer group {group} has no committed offset of topic {topic}.",
            remedy="name the group that the writer commits to; for a sink of Kafka Connect it is connect-<connector>",
        )
    return positions


@patient
def group_members(kafka: KafkaSettings, group: str) -> tuple[str, ...]:
    """The client ids of a group's members; empty for a group that nobody is in.

    Raises:
        BrokerUnreachable: no broker answered.
        KafkaForbidden: we may not describe the group.
    """
    with Connection(kafka) as connection:
        future = connection.admin.describe_consumer_groups([group], request_timeout=connection.timeout)[group]
        return tuple(sorted(member.client_id for member in connection.answer(future).members))


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
