"""A stream of several topics without Kafka and Spark: the logs are the test's, all else is the product's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import Stream, TopicPattern, ToTable
from lakehouse.engines.kafka.several_topics.stream_topics import joined_state
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.position import stored_position
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.ingest.in_process import InProcess

COLUMNS = {"id": pandera.Column(T.LongType(), nullable=False)}
LENIENT = {"id": pandera.Column(T.LongType(), nullable=True)}


@dataclass
class SeveralTopics(InProcess):
    """Topics of a partition or more; a topic's id changes where the test says so."""

    logs: dict[str, dict[int, int]] = field(default_factory=dict[str, dict[int, int]])
    ids: dict[str, str] = field(default_factory=dict[str, str])

    def topic(self, previous: KafkaStatement | None) -> TopicState:
        """As the brokers would tell of all of them."""
        states = {
            name: TopicState(
                name, "cluster", self.ids.get(name, f"id-{name}"), {p: PartitionRange(0, n) for p, n in ends.items()}
            )
            for name, ends in self.logs.items()
        }
        return joined_state(self.stream.name, self.stream.topic, states, previous)

    @property
    def position(self) -> KafkaStatement | None:
        """What the tables say."""
        return stored_position(self.stream.name, read_bases(self.catalog, self.tables))

    def run(self, arrived: Mapping[str, Sequence[bytes | None]]) -> None:
        """Records arrive in the first partition of each topic, and one run lands them."""
        for name, values in arrived.items():
            self.logs.setdefault(name, {0: 0})[0] += len(values)
        numbers = self.topic(self.position).numbers
        by_partition = {numbers.stream_partition(name, 0): values for name, values in arrived.items()}
        starts = {numbers.stream_partition(n, 0): self.logs[n][0] - len(v) for n, v in arrived.items()}
        self.ends |= starts
        self.ingest({partition: [(None, value) for value in values] for partition, values in by_partition.items()})


def several_topics(folder: Path, stream: Stream | None = None, *, lenient: str = "") -> SeveralTopics:
    """With one table `raw.things`, or the tables of a stream; `lenient` is the one that takes records without id."""
    declared = stream or Stream(
        name="things", topics=TopicPattern(".+"), route=ToTable("raw.things"), max_quarantine_share=1.0
    )
    made = SeveralTopics(open_catalog(sql_settings(folder)), declared)
    columns = {name: LENIENT if name == lenient else COLUMNS for name in declared.tables}
    made.declare(*(declare(dict(own), name=name).with_coordinates() for name, own in columns.items()))
    return made
