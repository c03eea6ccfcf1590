"""Reads exactly a planned range of a topic with Spark."""

import json
from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession

from lakehouse.engines.kafka import spark_options
from lakehouse.engines.kafka.loss_ledger import next_accepted
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.plan import POLL_RECORDS, IngestPlan

# Headers travel as text: as an array of structs they cost more on the way to Python than all the rest of an ingest, and
# only quarantined records need them.
COLUMNS = ("key", "value", "to_json(headers) AS headers", "partition", "offset", "timestamp")
# Large fetches: a cold scan is bound by round trips otherwise.
_CONSUMER = {
    "kafka.fetch.max.bytes": str(64 << 20),
    "kafka.max.partition.fetch.bytes": str(16 << 20),
    "kafka.fetch.min.bytes": str(256 << 10),
    "kafka.receive.buffer.bytes": str(1 << 20),
}


def kafka_frame(spark: SparkSession, kafka: KafkaSettings, plan: IngestPlan, *, min_partitions: int) -> DataFrame:
    """A frame of the plan's records: key, value, headers as JSON (or null), stream partition, offset, timestamp.

    `failOnDataLoss` stays on and the range ends at the last stable offset, so Spark either reads all of it or fails.
    """
    # Spark's newer Kafka reader is kept behind a list of sources that use the older one; it costs a quarter less.
    spark.conf.set("spark.sql.sources.useV1SourceList", "")
    ranges = plan.topic.numbers.by_topic(plan.ranges)
    reader = spark.read.format("kafka").options(
        **_CONSUMER,
        **spark_options(kafka),
        **{
            "kafka.max.poll.records": str(poll_records(plan)),
            "assign": json.dumps({topic: sorted(spans) for topic, spans in ranges.items()}),
            "startingOffsets": _offsets(ranges, 0),
            "endingOffsets": _offsets(ranges, 1),
            "kafka.isolation.level": "read_committed",
            "failOnDataLoss": "true",
            "includeHeaders": "true",
            # More tasks than Kafka partitions where cores would idle otherwise; each task still has one partition.
            "minPartitions": str(min_partitions),
        },
    )
    return reader.load().selectExpr(*columns(plan.topic.numbers, ranges))


def columns(numbers: TopicNumbers, topics: Iterable[str]) -> tuple[str, ...]:
    """What is asked of Spark. Of several topics the number comes with the partition: names would cost a column."""
    if not numbers.many:
        return COLUMNS
    cases = " ".join(f"WHEN '{topic}' THEN {numbers.stream_partition(topic, 0)}" for topic in topics)
    return tuple(f"partition + CASE topic {cases} END AS partition" if c == "partition" else c for c in COLUMNS)


def _offsets(ranges: Mapping[str, Mapping[int, tuple[int, int]]], side: int) -> str:
    return json.dumps({topic: {str(p): span[side] for p, span in spans.items()} for topic, spans in ranges.items()})


def poll_records(plan: IngestPlan) -> int:
    """How many records a consumer may take up at once.

    It takes up what lies behind the range as well, and would unpack the very record that was given up because Spark has
    no memory for it.
    """
    ends = {partition: end for partition, (_, end) in plan.ranges.items()}
    ahead = next_accepted(plan.previous.losses if plan.previous else (), plan.topic.numbers.ids, ends)
    return 1 if any(start - ends[partition] < POLL_RECORDS for partition, (start, _) in ahead.items()) else POLL_RECORDS
