"""Where a consumer group says that it has come to in a topic."""

from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaException, TopicPartition

from lakehouse.engines.kafka.clients import onlooker_config
from lakehouse.engines.kafka.connection import LIBRDKAFKA_LOG, TIMEOUT, Connection
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
