"""What a topic holds right now: its identity and, for each partition, the range that can be read."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    ConfigResource,  # pyright: ignore[reportPrivateImportUsage]
    ListOffsetsResultInfo,  # pyright: ignore[reportPrivateImportUsage]
    OffsetSpec,  # pyright: ignore[reportPrivateImportUsage]
    ResourceType,  # pyright: ignore[reportPrivateImportUsage]
)
from confluent_kafka.cimpl import NewTopic
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from lakehouse.engines.kafka.connection import Connection, KafkaBusy, TopicMissing
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.settings import KafkaSettings

AS_KAFKA_PRINTS_IT = str.maketrans("+/", "-_")  # librdkafka prints plain base64, Kafka's own tools the kind for URLs

patient = retry(retry=retry_if_exception_type(KafkaBusy), stop=stop_after_delay(10), wait=wait_fixed(0.1), reraise=True)


class PartitionRange(NamedTuple):
    """Offsets that a reader of committed records can get: from `earliest` up to, not including, `last_stable`.

    The last stable offset, not the high watermark: behind it lie records of transactions that are still open, and a
    range that ends there would wait for them, or silently return fewer rows.
    """

    earliest: int
    last_stable: int


@dataclass(frozen=True)
class TopicState:
    """A topic at one moment. Cluster id and topic id tell a topic from another one of the same name.

    Args:
        leader_epochs: partition → how many leaders it has had; a log is cut only where another one begins.
        truncated: partitions whose log was cut below a position that was asked about, see `truncation`.
        topics: name and id of each topic of a stream of several, see `topic_numbers`; `topic` is what messages call
            them then, `topic_id` the id of the first, and partitions are stream partitions.
        absent: topics that the stream knows and that are gone, or declared no more.
        joining: topics that it did not know yet.
    """

    topic: str
    cluster_id: str
    topic_id: str
    partitions: dict[int, PartitionRange]
    leader_epochs: dict[int, int] = field(default_factory=dict[int, int])
    truncated: frozenset[int] = frozenset()
    topics: tuple[tuple[str, str], ...] = ()
    absent: frozenset[str] = frozenset()
    joining: frozenset[str] = frozenset()

    @property
    def numbers(self) -> TopicNumbers:
        """What the numbers of its partitions mean."""
        return TopicNumbers(self.topics or ((self.topic, self.topic_id),), many=bool(self.topics))


def require_broker(kafka: KafkaSettings) -> None:
    """Ask whether a broker answers at all.

    Raises:
        BrokerUnreachable: No broker answered.
        ClientRefused: A property of the client is wrong.
    """
    with Connection(kafka) as connection:
        patient(connection.metadata)()


def read_topic(kafka: KafkaSettings, topic: str) -> TopicState:
    """Ask the cluster for a topic's identity and ranges.

    Raises:
        BrokerUnreachable: No broker answered.
        TopicMissing: There is no such topic.
    """
    with Connection(kafka) as connection:
        return _read(connection, topic)


def read_topics(kafka: KafkaSettings, names: Iterable[str]) -> dict[str, TopicState]:
    """Ask the cluster for several topics over one connection.

    Raises:
        BrokerUnreachable: No broker answered.
        TopicMissing: One of them does not exist.
    """
    with Connection(kafka) as connection:
        return {name: _read(connection, name) for name in names}


def offsets_at(kafka: KafkaSettings, topic: str, when: datetime) -> dict[int, int]:
    """Each partition's first offset whose record is of `when` or later; the last stable offset where there is none.

    Raises:
        ValueError: `when` has no zone.
    """
    if when.tzinfo is None:
        raise ValueError(f"{when} has no time zone")
    with Connection(kafka) as connection:
        state = _read(connection, topic)
        spec = OffsetSpec.for_timestamp(int(when.timestamp() * 1000))
        offsets = {p: info.offset for p, info in _offsets(connection, topic, state.partitions, spec).items()}
    return {
        partition: limits.last_stable if offsets[partition] < 0 else min(offsets[partition], limits.last_stable)
        for partition, limits in state.partitions.items()
    }


class TopicRetention(NamedTuple):
    """For how long a topic keeps records.

    Attributes:
        deletes: whether it lets old ones go at all; one that is only compacted does not.
        time: `retention.ms`; None for ever.
        bytes: `retention.bytes` of a partition; None without a limit.
    """

    deletes: bool
    time: timedelta | None
    bytes: int | None


def topic_retention(kafka: KafkaSettings, topic: str) -> TopicRetention:
    """Ask for a topic's retention.

    Raises:
        BrokerUnreachable: No broker answered.
        TopicMissing: There is no such topic.
        KafkaRefused: We may not ask for a topic's configuration.
    """
    config = topic_config(kafka, topic)
    milliseconds, size = (int(config[name]) for name in ("retention.ms", "retention.bytes"))
    # Longer than a hundred years is for ever, and more than a timedelta may hold.
    time = timedelta(milliseconds=milliseconds) if 0 <= milliseconds < 3_155_760_000_000 else None
    return TopicRetention("delete" in config["cleanup.policy"], time, size if size >= 0 else None)


def topic_config(kafka: KafkaSettings, topic: str) -> dict[str, str]:
    """A topic's configuration: name of a setting → its value, as text.

    Raises:
        BrokerUnreachable: No broker answered.
        TopicMissing: There is no such topic.
        KafkaRefused: We may not ask for a topic's configuration.
    """
    resource = ConfigResource(ResourceType.TOPIC, topic)
    with Connection(kafka) as connection:
        future = connection.admin.describe_configs([resource], request_timeout=connection.timeout)[resource]
        return {name: str(entry.value) for name, entry in connection.answer(future, topic=topic).items()}


def topic_names(kafka: KafkaSettings) -> list[str]:
    """The topics of the cluster, without those that Kafka keeps for itself.

    Raises:
        BrokerUnreachable: No broker answered.
    """
    with Connection(kafka) as connection:
        topics = connection.metadata().topics
    return sorted(name for name in topics if not name.startswith("__"))


def create_topic(
    kafka: KafkaSettings, topic: str, partitions: int, *, config: Mapping[str, str] | None = None
) -> TopicState:
    """Create a topic unless it is there already, wait until it can be read, and return its state."""
    request = NewTopic(topic, num_partitions=partitions, replication_factor=-1, config=dict(config or {}))
    with Connection(kafka) as connection:
        future = connection.admin.create_topics([request], request_timeout=connection.timeout)[topic]
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise connection.explained(error.args[0], topic) from error
        return _read_new(connection, topic)


def delete_topics(kafka: KafkaSettings, topics: Sequence[str]) -> None:
    """Delete topics with all that is in them; one that does not exist is left alone.

    Raises:
        KafkaRefused: The cluster does not delete one of them.
    """
    with Connection(kafka) as connection:
        futures = connection.admin.delete_topics(list(topics), request_timeout=connection.timeout)
        for topic, future in futures.items():
            with suppress(TopicMissing):
                connection.answer(future, topic=topic)


@patient
def _read(connection: Connection, topic: str) -> TopicState:
    """Topic, cluster and both ends of each partition: four questions."""
    future = connection.admin.describe_topics(TopicCollection([topic]), request_timeout=connection.timeout)[topic]
    described = connection.answer(future, topic=topic)
    cluster_id = connection.metadata(topic).cluster_id
    partitions = sorted(info.id for info in described.partitions)
    earliest = _offsets(connection, topic, partitions, OffsetSpec.earliest())
    last_stable = _offsets(connection, topic, partitions, OffsetSpec.latest())
    return TopicState(
        topic=topic,
        cluster_id=str(cluster_id),
        topic_id=str(described.topic_id).translate(AS_KAFKA_PRINTS_IT),
        partitions={p: PartitionRange(earliest[p].offset, last_stable[p].offset) for p in partitions},
        leader_epochs={p: epoch for p in partitions if (epoch := last_stable[p].leader_epoch) is not None},
    )


@retry(
    retry=retry_if_exception_type((KafkaBusy, TopicMissing)),
    stop=stop_after_delay(10),
    wait=wait_fixed(0.1),
    reraise=True,
)
def _read_new(connection: Connection, topic: str) -> TopicState:
    """Read a topic that was created a moment ago: until the brokers have heard of it, they deny that it exists."""
    return _read(connection, topic)


def _offsets(
    connection: Connection, topic: str, partitions: Iterable[int], spec: OffsetSpec | None
) -> dict[int, ListOffsetsResultInfo]:
    assert spec is not None  # earliest() and latest() are annotated as if they could be
    futures = connection.admin.list_offsets(
        {TopicPartition(topic, partition): spec for partition in partitions},
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=connection.timeout,
    )
    return {
        topic_partition.partition: connection.answer(future, topic=topic) for topic_partition, future in futures.items()
    }
