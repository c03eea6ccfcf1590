"""Kafka: what a topic holds, how to reach it, and a broker of our own for the laptop."""

from lakehouse.engines.kafka.clients import ClientProperties, client_config, spark_options
from lakehouse.engines.kafka.connection import (
    BrokerUnreachable,
    ClientRefused,
    KafkaBusy,
    KafkaForbidden,
    KafkaLoginRefused,
    KafkaRefused,
    TopicMissing,
)
from lakehouse.engines.kafka.local.local_broker import BrokerFailed, LocalBroker
from lakehouse.engines.kafka.oversized import Oversized, first_oversized
from lakehouse.engines.kafka.peek import oldest_unread_time, sample_record_bytes
from lakehouse.engines.kafka.produce import NotDelivered, Record, send
from lakehouse.engines.kafka.security.java_properties import UnsupportedKafkaSecurity
from lakehouse.engines.kafka.security.msk_iam import MskLoginFailed
from lakehouse.engines.kafka.topics import (
    PartitionRange,
    TopicState,
    create_topic,
    delete_topics,
    offsets_at,
    read_topic,
    require_broker,
    topic_names,
)

__all__ = [
    "BrokerFailed",
    "BrokerUnreachable",
    "ClientProperties",
    "ClientRefused",
    "KafkaBusy",
    "KafkaForbidden",
    "KafkaLoginRefused",
    "KafkaRefused",
    "LocalBroker",
    "MskLoginFailed",
    "NotDelivered",
    "Oversized",
    "PartitionRange",
    "Record",
    "TopicMissing",
    "TopicState",
    "UnsupportedKafkaSecurity",
    "client_config",
    "create_topic",
    "delete_topics",
    "first_oversized",
    "offsets_at",
    "oldest_unread_time",
    "read_topic",
    "require_broker",
    "sample_record_bytes",
    "send",
    "spark_options",
    "topic_names",
]
