"""Where a stream stands: what its tables say, and what the topic holds beyond. Metadata and offsets only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from pyiceberg.exceptions import NoSuchTableError

from lakehouse.declarations import Stream
from lakehouse.engines.kafka import TopicState
from lakehouse.engines.kafka.several_topics.stream_topics import read_stream_topics
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.orchestration.resources.lake import Lake
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.plan import require_same_log
from lakehouse.steps.ingest.position import first_offsets, stored_position


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
    def valid_through(self) -> datetime | None:
        """Until when the tables are known to hold all that was sent; None if the newest run did not reach the end."""
        if self.sealed is None or not self.sealed.valid_through_ms:
            return None
        return datetime.fromtimestamp(self.sealed.valid_through_ms / 1000, UTC)


def stream_status(lake: Lake, stream: Stream) -> Standing:
    """Ask the tables and the broker where a stream stands.

    Raises:
        IngestRefused: the tables contradict each other, or the topic is not the one that was read, so that its end says
            nothing of what is unread; the next ingest would refuse as well.
        BrokerUnreachable: no broker answered.
        TopicMissing: there is no such topic.
    """
    sealed, snapshots = _stored(lake, stream)
    topic = read_stream_topics(lake.kafka, stream, sealed)
    first = {} if sealed else first_offsets(stream, lake.kafka, topic)
    return Standing.of(stream.name, sealed, topic, first=first, snapshots=snapshots)


def _stored(lake: Lake, stream: Stream) -> tuple[KafkaStatement | None, dict[str, int]]:
    try:
        bases = read_bases(lake.catalog, (*stream.tables, stream.quarantine_table))
    except NoSuchTableError:  # the first run will create what is missing
        return None, {}
    snapshots = {name: base.snapshot_id for name, base in bases.items() if base.snapshot_id is not None}
    return stored_position(stream.name, bases), snapshots
