"""Where a stream stands: what its tables say, and what the topic holds beyond. Metadata and offsets only."""

from dataclasses import dataclass
from datetime import UTC, datetime

from pyiceberg.exceptions import NoSuchTableError

from lakehouse.commit import read_bases
from lakehouse.ingest.plan import stored_position
from lakehouse.ingest.step import first_offsets
from lakehouse.kafka import TopicState, read_topic
from lakehouse.kafka.statement import KafkaStatement
from lakehouse.resources.lake import Lake
from lakehouse.tables import Stream


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


def standing(lake: Lake, stream: Stream) -> Standing:
    """Ask the tables and the broker where a stream stands.

    Raises:
        IngestRefused: the tables contradict each other; the next ingest would refuse as well.
        BrokerUnreachable: no broker answered.
        TopicMissing: there is no such topic.
    """
    sealed, snapshots = _stored(lake, stream)
    topic = read_topic(lake.kafka, stream.topic)
    known = sealed.end if sealed else first_offsets(stream, lake.kafka, topic)
    position = {p: known.get(p, limits.earliest) for p, limits in topic.partitions.items()}
    return Standing(stream.name, sealed, topic, position, snapshots)


def _stored(lake: Lake, stream: Stream) -> tuple[KafkaStatement | None, dict[str, int]]:
    try:
        bases = read_bases(lake.catalog, (*stream.tables, stream.quarantine_table))
    except NoSuchTableError:  # the first run will create what is missing
        return None, {}
    snapshots = {name: base.snapshot_id for name, base in bases.items() if base.snapshot_id is not None}
    return stored_position(stream.name, bases), snapshots
