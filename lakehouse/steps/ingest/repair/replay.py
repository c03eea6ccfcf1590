"""Reads a range again into branches of its own, and compares with what the tables hold: nothing is ever published.

The same decoder, rules and writers work on the records as in an ingest, so a difference means that the code, the
declaration, the topic or the table has changed since, and its place is named. Values are not shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import pyarrow as pa
from pyiceberg.expressions import And, BooleanExpression, EqualTo, GreaterThanOrEqual, LessThan, Or
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import Table

from lakehouse.engines.kafka import read_topic
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.ingest.plan import IngestPlan, require_same_log, require_unchanged, stored_position
from lakehouse.steps.ingest.refusals import Ranges, shown
from lakehouse.steps.ingest.step import IngestStep
from lakehouse.steps.ingest.workers.work import IngestWork, read_and_write
from lakehouse.steps.ingest.write_result import stage_tables

# Says which run wrote the row, not what came from Kafka.
_OF_THE_RUN = "run_id"
Place = tuple[int, int]
"""Partition and offset."""


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
    held: int
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
    topic = read_topic(step.kafka, step.stream.topic)
    plan = _plan(step.stream.name, ranges, previous, topic)
    try:
        with step.session() as spark:
            work = IngestWork(plan, step.stream, step.declarations, bases, step.attempt)
            landed = read_and_write(spark, step.kafka, work, min_partitions=step.limits.min_partitions)
            require_unchanged(step.stream.name, plan, read_topic(step.kafka, plan.topic.topic))
            stage_tables(spark, step.catalog, bases, step.attempt, landed)
        return [_compare(step, base, ranges) for base in bases.values()]
    finally:
        if not keep:
            _drop(step, bases)


def _plan(stream: str, ranges: Ranges, previous: KafkaStatement | None, topic: TopicState) -> IngestPlan:
    if previous is None:
        raise CannotReplay(f"Stream {stream} has not begun.", remedy="let it run first")
    require_same_log(stream, previous, topic)
    empty = {p: span for p, span in ranges.items() if span[1] <= span[0]}
    unread = {p: span for p, span in ranges.items() if span[1] > previous.end.get(p, 0)}
    gone = {p: span for p, span in ranges.items() if p in topic.partitions and span[0] < topic.partitions[p].earliest}
    for wrong, why in ((empty, "hold nothing"), (unread, "were not read yet"), (gone, "are not in the log any more")):
        if wrong:
            raise CannotReplay(
                f"Stream {stream}: {shown(wrong)} {why}.",
                remedy="`lakehouse tables` shows positions, `lakehouse status` what the topic holds",
            )
    return IngestPlan(topic, {p: r[0] for p, r in ranges.items()}, {p: r[1] for p, r in ranges.items()}, previous)


def _compare(step: IngestStep, base: Base, ranges: Ranges) -> ReplayResult:
    table = step.catalog.load_table(base.identifier)
    where = _within(ranges)
    held = _rows(table, base.snapshot_id, where, set())
    known = {task.file.file_path for task in _tasks(table, base.snapshot_id, where)}
    again = _rows(table, head_of(table, step.attempt.branch), where, known)
    return compare_rows(base.name, held, again)


def compare_rows(name: str, held: pa.Table, again: pa.Table) -> ReplayResult:
    """Compare two sets of rows by their places; pure."""
    mine, theirs = _by_place(held), _by_place(again)
    missing = sorted(place for place in theirs if place not in mine)
    extra = sorted(place for place, rows in mine.items() for _ in rows[len(theirs.get(place, ())) :])
    both = sorted(place for place in mine if place in theirs)
    one = held.take(pa.array([mine[place][0] for place in both], pa.int64()))
    other = again.take(pa.array([theirs[place][0] for place in both], pa.int64()))
    different: dict[Place, list[str]] = {}
    for column in held.column_names:
        if column == _OF_THE_RUN or one[column].equals(other[column]):
            continue
        for place, left, right in zip(both, one[column].to_pylist(), other[column].to_pylist(), strict=True):
            # As text, because a number that is none equals nothing, not even itself.
            if repr(left) != repr(right):
                different.setdefault(place, []).append(column)
    return ReplayResult(name, held.num_rows, again.num_rows, missing, extra, different)


def _by_place(rows: pa.Table) -> dict[Place, list[int]]:
    found: dict[Place, list[int]] = {}
    for number, place in enumerate(zip(rows[PARTITION].to_pylist(), rows[OFFSET].to_pylist(), strict=True)):
        found.setdefault(place, []).append(number)
    return found


def _within(ranges: Ranges) -> BooleanExpression:
    terms = [
        And(EqualTo(PARTITION, p), GreaterThanOrEqual(OFFSET, start), LessThan(OFFSET, end))  # pyright: ignore[reportCallIssue]
        for p, (start, end) in ranges.items()
    ]
    return Or(*terms) if len(terms) > 1 else terms[0]


def _tasks(table: Table, snapshot_id: int | None, where: BooleanExpression):
    if snapshot_id is None:
        return []
    return list(table.scan(row_filter=where, snapshot_id=snapshot_id).plan_files())


def _rows(table: Table, snapshot_id: int | None, where: BooleanExpression, without: set[str]) -> pa.Table:
    tasks = [task for task in _tasks(table, snapshot_id, where) if task.file.file_path not in without]
    return ArrowScan(table.metadata, table.io, table.schema(), where).to_table(tasks)


def _drop(step: IngestStep, bases: Mapping[str, Base]) -> None:
    for base in bases.values():
        for left in abandoned_branches(step.catalog.load_table(base.identifier), older_than=timedelta(0)):
            if left.branch == step.attempt.branch:
                drop_branch(step.catalog, left)
