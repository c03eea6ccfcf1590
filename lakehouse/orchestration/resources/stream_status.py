"""Where a stream stands: what its tables say, and what the topic holds beyond. Metadata and offsets only."""

from pyiceberg.exceptions import NoSuchTableError

from lakehouse.declarations import Stream
from lakehouse.engines.kafka.several_topics.stream_topics import read_stream_topics
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.orchestration.resources.lake import Lake
from lakehouse.steps.ingest.position import first_offsets, stored_position
from lakehouse.steps.ingest.routes.loadable import RouteTableGone, load_tables_of
from lakehouse.steps.ingest.standing import Standing


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
        bases = load_tables_of(lake.catalog, stream, lake.declarations).bases
    except (NoSuchTableError, RouteTableGone):  # the first run will create what is missing
        return None, {}
    snapshots = {name: base.snapshot_id for name, base in bases.items() if base.snapshot_id is not None}
    return stored_position(stream.name, bases), snapshots
