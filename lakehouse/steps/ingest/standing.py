"""Where a stream stands: what its newest seal says, compared with what the topic holds. Offsets only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lakehouse.engines.kafka import TopicState
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.quantities import quantity
from lakehouse.steps.ingest.topic_identity import require_same_log


@dataclass(frozen=True)
class Standing:
    """A stream at one moment.

    Args:
        sealed: what the newest seal says; None before the first run.
        topic: what the broker says.
        position: partition → first offset that is not read yet, for every partition of the topic.
        snapshots: table → snapshot id that said so.
    """

    stream: str
    sealed: KafkaStatement | None
    topic: TopicState
    position: dict[int, int]
    snapshots: dict[str, int]

    @classmethod
    def of(
        cls,
        stream: str,
        sealed: KafkaStatement | None,
        topic: TopicState,
        *,
        first: Mapping[int, int],
        snapshots: Mapping[str, int],
    ) -> "Standing":
        """Compare what the tables say with the topic; pure.

        Args:
            stream: its name.
            sealed: what the newest seal says.
            topic: what the broker says.
            first: partition → where a stream that has not begun will begin.
            snapshots: table → snapshot id that said so.

        Raises:
            IngestRefused: the topic is not, or no longer wholly, the one that was read.
        """
        if sealed is not None:
            require_same_log(stream, sealed, topic)
        known = sealed.end if sealed else first
        position = {p: known.get(p, limits.earliest) for p, limits in topic.partitions.items()}
        return cls(stream, sealed, topic, position, dict(snapshots))

    @property
    def unread(self) -> dict[int, int]:
        """Partition → offsets that wait to be read."""
        return {p: max(0, limits.last_stable - self.position[p]) for p, limits in self.topic.partitions.items()}

    @property
    def lag(self) -> int:
        """Offsets that wait to be read, over all partitions."""
        return sum(self.unread.values())

    @property
    def progress(self) -> str:
        """`Everything in topic t is read`, or `3 offsets of topic t unread`."""
        name = self.topic.topic
        return (
            f"{quantity(self.lag, 'offset')} of topic {name} unread"
            if self.lag
            else f"Everything in topic {name} is read"
        )

    @property
    def valid_through(self) -> datetime | None:
        """Until when the tables are known to hold all that was sent; None if the newest run did not reach the end."""
        if self.sealed is None or not self.sealed.valid_through_ms:
            return None
        return datetime.fromtimestamp(self.sealed.valid_through_ms / 1000, UTC)
