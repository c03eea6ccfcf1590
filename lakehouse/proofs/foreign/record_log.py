"""What a proof asks of the topic: which offsets there are, and which of them have a record."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lakehouse.engines.kafka.group_positions import committed_positions
from lakehouse.engines.kafka.records import CommittedRecords, record_offsets
from lakehouse.engines.kafka.second_look import OffsetGap, cleanup_policy
from lakehouse.engines.kafka.topics import PartitionRange, read_topic
from lakehouse.settings import KafkaSettings


@dataclass(frozen=True)
class RecordLog:
    """A topic, as it was after the tables were loaded: what these hold of it, it held before.

    Attributes:
        topic: its name.
        partitions: partition → the offsets that can be read.
        compacted: whether Kafka removes records that later ones replace, so that a lost record looks like those.
        read: the committed records within some ranges.
        positions: partition → where the writer's consumer group says it has come to; empty where none was named.
    """

    topic: str
    partitions: Mapping[int, PartitionRange]
    compacted: bool
    read: Callable[[Iterable[OffsetGap]], Iterator[CommittedRecords]]
    positions: Mapping[int, int] = field(default_factory=dict[int, int])

    @classmethod
    def of(cls, kafka: KafkaSettings, topic: str, group: str = "") -> "RecordLog":
        """Ask the cluster.

        Raises:
            BrokerUnreachable: no broker answered.
            GroupMissing: the group has committed nothing of this topic.
            TopicMissing: there is no such topic.
        """
        partitions = read_topic(kafka, topic).partitions
        return cls(
            topic,
            partitions,
            "compact" in cleanup_policy(kafka, topic),
            lambda ranges: record_offsets(kafka, topic, ranges),
            committed_positions(kafka, topic, group, partitions) if group else {},
        )

    def end(self, partition: int) -> int:
        """Up to where the writer has read, by its group; or else up to where anybody could."""
        last_stable = self.partitions[partition].last_stable
        return min(self.positions.get(partition, 0), last_stable) if self.positions else last_stable
