"""The topics of a stream, numbered, so that a partition of any of them is one number.

Positions, tallies and ranges are by *stream partition*: the number of the topic × 1,000,000 + Kafka's partition. The
first topic has number 0, so in a stream of one topic a stream partition is Kafka's own. A number is never given twice:
a topic that is gone keeps it, since rows of it are counted under it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

STRIDE = 1_000_000
"""More partitions than a topic can have: a whole cluster does not reach so many."""
MOST_TOPICS = 2_000
"""A stream partition has to fit into 32 bits, as in Spark's rows."""

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class TopicNumbers:
    """Topics in the order of their numbers.

    Args:
        topics: name and topic id of each.
        many: whether the stream is of several topics, also where only one has been seen yet.
    """

    topics: tuple[tuple[str, str], ...]
    many: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The topics by name."""
        return tuple(name for name, _ in self.topics)

    def stream_partition(self, topic: str, partition: int) -> int:
        """The number of a partition of a topic.

        Raises:
            ValueError: the stream has no such topic.
        """
        return self.names.index(topic) * STRIDE + partition

    def split(self, stream_partition: int) -> tuple[str, int]:
        """Topic and Kafka's partition; a number that no topic has is `topic #7`."""
        if not self.many:
            return self.topics[0][0], stream_partition
        number, partition = divmod(stream_partition, STRIDE)
        return self.topics[number][0] if number < len(self.topics) else f"topic #{number}", partition

    def label(self, stream_partition: int) -> str:
        """For a person: Kafka's partition, and in a stream of several topics `topic:partition`."""
        topic, partition = self.split(stream_partition)
        return f"{topic}:{partition}" if self.many else str(partition)

    def read(self, label: str) -> int | None:
        """The stream partition of a label; None where it is none."""
        topic, separator, partition = label.rpartition(":")
        if not partition.isdecimal() or self.many != bool(separator) or (separator and topic not in self.names):
            return None
        return self.stream_partition(topic, int(partition)) if separator else int(partition)

    def labelled(self, values: Mapping[int, _Value]) -> dict[str, _Value]:
        """The same values by label, in the order of the numbers."""
        return {self.label(partition): value for partition, value in sorted(values.items())}

    def by_topic(self, values: Mapping[int, _Value]) -> dict[str, dict[int, _Value]]:
        """Stream partition → value, as topic → Kafka's partition → value."""
        result: dict[str, dict[int, _Value]] = {}
        for stream_partition, value in sorted(values.items()):
            topic, partition = self.split(stream_partition)
            result.setdefault(topic, {})[partition] = value
        return result

    def of_topic(self, topic: str, values: Mapping[int, _Value]) -> dict[int, _Value]:
        """A topic's partition → value, as stream partition → value."""
        first = self.stream_partition(topic, 0) if values else 0
        return {first + partition: value for partition, value in values.items()}

    def topic_id(self, stream_partition: int) -> str:
        """Id of the topic that a stream partition is of; empty where no topic has the number."""
        number = stream_partition // STRIDE if self.many else 0
        return self.topics[number][1] if number < len(self.topics) else ""

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all topics."""
        return frozenset(topic_id for _, topic_id in self.topics)

    def renewed(self, now: "TopicNumbers") -> dict[str, tuple[str, str]]:
        """Topic → its id then and now, of those that have another one."""
        ids = dict(now.topics)
        return {name: (was, ids[name]) for name, was in self.topics if name in ids and ids[name] != was}
