"""The days of a stream in Dagster: a partition for each, read again from Kafka and compared with the tables.

Nothing is published. A day is from the first record with a Kafka timestamp of it to the first one of the next day.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import dagster as dg

from lakehouse.declarations import Declarations, Stream
from lakehouse.engines.kafka.several_topics.stream_topics import read_stream_topics, stream_offsets_at
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.assets.metadata.stream import offsets_table
from lakehouse.orchestration.assets.progress import step_progress
from lakehouse.orchestration.assets.stream import KINDS, pool_of, stream_keys
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake, LakehouseSpark, repeated_when_spark_is_lost
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.orchestration.run_context import attempt_of
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.ingest_step import IngestStep, with_named_tables
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.record_limit import limits_of
from lakehouse.steps.ingest.refusals import Ranges
from lakehouse.steps.ingest.repair.replay import CannotReplay, Place, ReplayResult, replay

GROUP = "replay"
"""Asset group: `lakehouse run` leaves it out."""
_SHOWN = 5


class DayDiffers(LakehouseError):
    """What was read again of a day is not what the tables hold."""


def replay_asset(
    stream: Stream, declarations: Declarations, names: DagsterNames = DEFAULT_NAMES
) -> dg.AssetsDefinition:
    """Make the asset of a stream whose days can be read again: it has `replay_from`."""
    assert stream.replay_from is not None

    @dg.asset(
        key=dg.AssetKey([*names.prefix, "replay", stream.name]),
        partitions_def=dg.DailyPartitionsDefinition(start_date=stream.replay_from.isoformat(), timezone="UTC"),
        deps=stream_keys(stream, declarations, names),
        group_name=GROUP,
        kinds=set(KINDS),
        pool=pool_of(stream),
        description=f"Days of {stream.topic or stream.name}, read again and compared with the tables. Changes nothing.",
    )
    @names.resources
    def replay_day(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake], spark: LakehouseSpark
    ) -> dg.MaterializeResult[Any]:
        window = context.partition_time_window
        with step_progress(context.log.info) as inform:
            step = with_named_tables(
                IngestStep(
                    stream=lake.declarations.streams[stream.name],
                    declarations=lake.declarations,
                    catalog=lake.catalog,
                    kafka=lake.kafka,
                    limits=limits_of(lake.settings.ingest, stream),
                    session=lambda: spark.session(f"replay {stream.name}"),
                    attempt=attempt_of(context, lake.settings, step=f"replay:{stream.name}"),
                    inform=inform,
                )
            )
            ranges, topic = _ranges(step, window.start, window.end)
            compared = _compared(step, ranges) if ranges else []
        metadata = _metadata(ranges, topic, compared)
        if differing := [result for result in compared if not result.equal]:
            raise DayDiffers(_difference(differing, topic.numbers), remedy=_REMEDY)
        return dg.MaterializeResult(metadata=metadata)

    return replay_day


_REMEDY = "look at these records: the declaration, the topic or the table has changed since they were read."


@repeated_when_spark_is_lost()
def _compared(step: IngestStep, ranges: Ranges) -> list[ReplayResult]:
    return replay(step, ranges)


def _ranges(step: IngestStep, start: datetime, end: datetime) -> tuple[dict[int, tuple[int, int]], TopicState]:
    """What the stream has read of a day, and its topic."""
    previous = stored_position(step.stream.name, read_bases(step.catalog, step.tables))
    if previous is None:
        raise CannotReplay(f"Stream {step.stream.name} has not begun.", remedy="let it run first")
    topic = read_stream_topics(step.kafka, step.stream, previous)
    first, after = (stream_offsets_at(step.kafka, topic, moment) for moment in (start, end))
    return day_ranges(previous, first, after), topic


def day_ranges(
    previous: KafkaStatement, first: Mapping[int, int], after: Mapping[int, int]
) -> dict[int, tuple[int, int]]:
    """The offsets of a day that a stream has read, by partition; without partitions of none.

    Args:
        previous: what its tables say.
        first: partition → offset of the day's first record.
        after: partition → offset of the next day's first record.
    """
    ranges = {
        partition: (max(offset, previous.origin.get(partition, 0)), min(after[partition], previous.end[partition]))
        for partition, offset in sorted(first.items())
        if partition in previous.end and partition in after
    }
    return {partition: (start, end) for partition, (start, end) in ranges.items() if start < end}


def _metadata(ranges: Ranges, topic: TopicState, compared: list[ReplayResult]) -> dict[str, Any]:
    columns = {"table": "string", "rows": "int", "read again": "int"}
    metadata: dict[str, Any] = {
        "offsets": offsets_table(ranges),
        "records": sum(end - start for start, end in ranges.values()),
        "compared": rows_shown(columns, [(each.table, each.stored, each.replayed) for each in compared]),
    }
    # Where the log begins within the day, what was before that is gone.
    cut = [p for p, (start, _) in ranges.items() if 0 < start == topic.partitions[p].earliest]
    if cut:
        metadata["log begins within the day"] = ", ".join(map(topic.numbers.label, cut))
    return metadata


def _difference(differing: list[ReplayResult], numbers: TopicNumbers) -> str:
    lines: list[str] = []
    for result in differing:
        places = {
            "missing": result.missing,
            "not as they were read": sorted(result.different),
            "there and not read": result.extra,
        }
        shown = [f"{len(some)} {what} ({_named(some, numbers)})" for what, some in places.items() if some]
        lines.append(f"{result.table}: {', '.join(shown)}")
    return f"{'; '.join(lines)}."


def _named(places: list[Place], numbers: TopicNumbers) -> str:
    names = [f"partition {numbers.label(partition)} offset {offset}" for partition, offset in places[:_SHOWN]]
    return ", ".join([*names, *(["…"] if len(places) > _SHOWN else [])])
