"""Reads a range again into branches of its own, and compares with what the tables hold: nothing is ever published.

The same decoder, rules and writers work on the records as in an ingest, so a difference means that the code, the
declaration, the topic or the table has changed since, and its place is named. Values are not shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import pyarrow as pa
from pyiceberg.expressions import And, BooleanExpression, GreaterThanOrEqual, LessThan, Or
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import Table

from lakehouse.engines.kafka.several_topics.stream_topics import again, read_stream_topics
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit.coordinates import OFFSET, in_partition, stream_partitions
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.ingest.duplicates.drop import without_duplicates
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.refusals import Ranges, shown
from lakehouse.steps.ingest.topic_identity import require_same_log, require_unchanged
from lakehouse.steps.ingest.workers.reading import read_and_write
from lakehouse.steps.ingest.workers.work import IngestWork
from lakehouse.steps.ingest.write_result import stage_tables

# Says which run wrote the row, not what came from Kafka.
_OF_THE_RUN = "run_id"
Place = tuple[int, int]
"""Stream partition and offset."""


class CannotReplay(LakehouseError):
    """The range is not there to be read again, or was never read."""


@dataclass(frozen=True)
class ReplayResult:
    """One table: what main holds of the range against what was read again.

    Args:
        missing: places that were read again and are not in the table.
        extra: places that are in the table, and were not read again into it, or not so often.
        different: place → columns whose values differ.
    """

    table: str
    stored: int
    replayed: int
    missing: list[Place] = field(default_factory=list[Place])
    extra: list[Place] = field(default_factory=list[Place])
    different: dict[Place, list[str]] = field(default_factory=dict[Place, list[str]])

    @property
    def equal(self) -> bool:
        """Whether the range is in the table as it would be written now."""
        return not (self.missing or self.extra or self.different)


def replay(step: IngestStep, ranges: Ranges, *, keep: bool = False) -> list[ReplayResult]:
    """Read ranges again and compare, table by table; the branches are dropped afterwards unless `keep`.

    Raises:
        CannotReplay: a range is empty, was not read yet, or is not in the log any more.
        IngestRefused: the topic is not the one that was read.
    """
    bases = read_bases(step.catalog, step.tables)
    previous = stored_position(step.stream.name, bases)
    topic = read_stream_topics(step.kafka, step.stream, previous)
    plan = _plan(step.stream.name, ranges, previous, topic)
    try:
        with step.session() as spark:
            work = IngestWork(plan, step.stream, step.declarations, bases, step.attempt)
            landed = read_and_write(spark, step.kafka, work, min_partitions=step.limits.min_partitions)
            require_unchanged(step.stream.name, plan.topic, plan.ranges, again(step.kafka, plan.topic))
            landed = without_duplicates(spark, step.declarations, bases, landed, ranges=plan.ranges)
            stage_tables(spark, step.catalog, bases, step.attempt, landed)
        return [_compare(step, base, ranges, topic.numbers) for base in bases.values()]
    finally:
        if not keep:
            _drop(step, bases)


def _plan(stream: str, ranges: Ranges, previous: KafkaStatement | None, topic: TopicState) -> IngestPlan:
    if previous is None:
        raise CannotReplay(f"Stream {stream} has not begun.", remedy="let it run first")
    require_same_log(stream, previous, topic)
    empty = {partition: span for partition, span in ranges.items() if span[1] <= span[0]}
    unread = {partition: span for partition, span in ranges.items() if span[1] > previous.end.get(partition, 0)}
    deleted = {
        partition: span
        for partition, span in ranges.items()
        if partition in topic.partitions and span[0] < topic.partitions[partition].earliest
    }
    for unusable, reason in (
        (empty, "hold nothing"),
        (unread, "were not read yet"),
        (deleted, "are not in the log any more"),
    ):
        if unusable:
            raise CannotReplay(
                f"Stream {stream}: {shown(unusable, topic.numbers)} {reason}.",
                remedy="`lakehouse tables` shows positions, `lakehouse status` what the topic holds",
            )
    return IngestPlan(
        topic,
        {partition: span[0] for partition, span in ranges.items()},
        {partition: span[1] for partition, span in ranges.items()},
        previous,
    )


def _compare(step: IngestStep, base: Base, ranges: Ranges, numbers: TopicNumbers) -> ReplayResult:
    table = step.catalog.load_table(base.identifier)
    condition = _within(ranges, numbers)
    stored = _rows(table, base.snapshot_id, condition, set())
    known_files = {task.file.file_path for task in _tasks(table, base.snapshot_id, condition)}
    replayed = _rows(table, head_of(table, step.attempt.branch), condition, known_files)
    return compare_rows(base.name, stored, replayed, numbers)


def compare_rows(name: str, stored: pa.Table, replayed: pa.Table, numbers: TopicNumbers | None = None) -> ReplayResult:
    """Compare two sets of rows by their places; pure.

    Not the comparison of a mirror: that one has a key once, and shows some examples; here every place is told.
    """
    stored_rows, replayed_rows = _by_coordinate(stored, numbers), _by_coordinate(replayed, numbers)
    missing = sorted(coordinate for coordinate in replayed_rows if coordinate not in stored_rows)
    extra = sorted(
        coordinate for coordinate, rows in stored_rows.items() for _ in rows[len(replayed_rows.get(coordinate, ())) :]
    )
    common = sorted(coordinate for coordinate in stored_rows if coordinate in replayed_rows)
    common_stored = stored.take(pa.array([stored_rows[coordinate][0] for coordinate in common], pa.int64()))
    common_replayed = replayed.take(pa.array([replayed_rows[coordinate][0] for coordinate in common], pa.int64()))
    different: dict[Place, list[str]] = {}
    for column in stored.column_names:
        if column == _OF_THE_RUN or common_stored[column].equals(common_replayed[column]):
            continue
        for coordinate, stored_value, replayed_value in zip(
            common, common_stored[column].to_pylist(), common_replayed[column].to_pylist(), strict=True
        ):
            # As text, because a number that is none equals nothing, not even itself.
            if repr(stored_value) != repr(replayed_value):
                different.setdefault(coordinate, []).append(column)
    return ReplayResult(name, stored.num_rows, replayed.num_rows, missing, extra, different)


def _by_coordinate(rows: pa.Table, numbers: TopicNumbers | None) -> dict[Place, list[int]]:
    rows_at: dict[Place, list[int]] = {}
    partitions = stream_partitions(numbers, rows).tolist()
    for row, coordinate in enumerate(zip(partitions, rows[OFFSET].to_pylist(), strict=True)):
        rows_at.setdefault(coordinate, []).append(row)
    return rows_at


def _within(ranges: Ranges, numbers: TopicNumbers) -> BooleanExpression:
    terms = [
        And(in_partition(numbers, partition), GreaterThanOrEqual(OFFSET, start), LessThan(OFFSET, end))  # pyright: ignore[reportCallIssue]
        for partition, (start, end) in ranges.items()
    ]
    return Or(*terms) if len(terms) > 1 else terms[0]


def _tasks(table: Table, snapshot_id: int | None, condition: BooleanExpression):
    if snapshot_id is None:
        return []
    return list(table.scan(row_filter=condition, snapshot_id=snapshot_id).plan_files())


def _rows(table: Table, snapshot_id: int | None, condition: BooleanExpression, without: set[str]) -> pa.Table:
    tasks = [task for task in _tasks(table, snapshot_id, condition) if task.file.file_path not in without]
    return ArrowScan(table.metadata, table.io, table.schema(), condition).to_table(tasks)


def _drop(step: IngestStep, bases: Mapping[str, Base]) -> None:
    for base in bases.values():
        for abandoned in abandoned_branches(step.catalog.load_table(base.identifier), older_than=timedelta(0)):
            if abandoned.branch == step.attempt.branch:
                drop_branch(step.catalog, abandoned)
