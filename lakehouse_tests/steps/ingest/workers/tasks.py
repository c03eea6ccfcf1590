"""A worker's task without Spark: of one table `raw.things` with a column `id`, whose records are JSON."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import Stream, ToTable
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.workers.work import IngestWork
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.ingest.in_process import InProcess

TABLE, QUARANTINE = "raw.things", "quarantine.things"
STREAM = Stream(name="things", topic="things", route=ToTable(TABLE))
TOPIC = TopicState("things", "cluster", "topic-id", {0: PartitionRange(0, 9)})


def work_on_things(folder: Path) -> IngestWork:
    """What is to be done with nine records of the topic."""
    things = InProcess(open_catalog(sql_settings(folder)), STREAM)
    columns = {"id": pandera.Column(T.LongType(), pandera.Check.ge(0), nullable=False)}
    things.declare(declare(columns, name=TABLE).with_coordinates())
    attempt = things.step().attempt
    bases = read_bases(things.catalog, things.tables)
    return IngestWork(IngestPlan(TOPIC, {0: 0}, {0: 9}, None), STREAM, things.declarations, bases, attempt)


def records(*values: Mapping[str, object] | None, start: int = 0) -> pa.RecordBatch:
    """As Spark's Kafka source hands records to a worker; None is what is no JSON."""
    return batch([b"{" if value is None else json.dumps(value).encode() for value in values], start)


def batch(values: Sequence[bytes], start: int = 0) -> pa.RecordBatch:
    """Records of one partition, in the minute 60 of the epoch."""
    count = len(values)
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([b"k"] * count, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "headers": pa.array([None] * count, pa.string()),
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(start, start + count), pa.int64()),
            "timestamp": pa.array([datetime(1970, 1, 1, 1, tzinfo=UTC)] * count, pa.timestamp("us", "UTC")),
        }
    )
