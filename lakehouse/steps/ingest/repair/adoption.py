"""Rows that no seal accounts for become the baseline from which a stream goes on, because a person says so.

What is adopted is what a scan of the coordinate columns finds in every table of the stream: these are the new totals,
and later rows are proven on top of them. Where the adopted rows came from, and whether they are all that there should
be, nobody can prove any more; the seal and every audit say whose run adopted them. What earlier seals say was retired
stays retired: a mirror must not take what is left of a changelog for all of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask

from lakehouse import seal_keys
from lakehouse.declarations.columns.names import COORDINATE_NAMES
from lakehouse.engines.kafka.several_topics.stream_topics import read_stream_topics
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.engines.kafka.truncation import with_truncation
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit.coordinates import Offsets, places
from lakehouse.proofs.foreign.coordinate_columns import coordinate_columns
from lakehouse.proofs.foreign.offset_runs import Runs
from lakehouse.proofs.foreign.stored_coordinates import stored_coordinates
from lakehouse.protocol.commit import Published, publish
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.position import agreed_position, emptied_tables
from lakehouse.steps.ingest.repair.baseline import baseline, retired_sums
from lakehouse.steps.ingest.repair.connect_sink import SinkPosition, require_committed
from lakehouse.steps.ingest.repair.go_on import (
    GoOn,
    GoOnFrom,
    go_on_at,
    not_in_rows,
    read_again,
    repeated_offsets,
    require_none_skipped,
)
from lakehouse.steps.ingest.sealing.seal_tables import seal_all


class NothingToAdopt(LakehouseError):
    """Every row is accounted for by a seal, or there is none."""


class RowsOfOtherTopics(LakehouseError):
    """A table has rows of several topics, and one stream cannot account for all of them."""


@dataclass(frozen=True)
class Adoption:
    """What adopting means.

    Args:
        rows: table → rows that it holds, with coordinates of ours.
        without_coordinates: table → rows of which no coordinate of ours says what record they are.
        unaccounted: table → rows, or commits, that no seal accounts for, or rows that are gone, in words.
        repeated: partition → offsets that are there more than once, in one table or several.
        read_again: partition → rows that lie at or after the position, so that they would land twice.
        not_in_rows: partition → offsets before the position that no row has, of those partitions that rows name.
        sinks: table → what it says of the sink of Kafka Connect whose group was named.
        statement: what every table of the stream will say.
    """

    go_on: GoOn
    rows: dict[str, int]
    unaccounted: dict[str, str]
    repeated: dict[int, int]
    read_again: dict[int, int]
    statement: KafkaStatement
    without_coordinates: dict[str, int] = field(default_factory=dict[str, int])
    not_in_rows: dict[int, int] = field(default_factory=dict[int, int])
    sinks: dict[str, SinkPosition] = field(default_factory=dict[str, SinkPosition])


def find_adoption(step: IngestStep, bases: Mapping[str, Base], go_on: GoOn | GoOnFrom) -> Adoption:
    """Take stock of the tables and of the topic.

    Raises:
        NothingToAdopt: no table holds anything that a seal does not account for.
        IngestRefused: the sealed tables do not agree, or the position that rows or seals tell is not in the log.
        OffsetsSkipped: the stream would go on behind offsets that nobody has read.
        GoOnUnknown: nothing says where it goes on.
        GroupActive: the other writer has not been stopped.
        FilesAnnounced: a sink has gone past records that are in no table yet.
        RowsOfOtherTopics: rows are of other topics as well.
    """
    go_on = GoOn(go_on) if isinstance(go_on, GoOnFrom) else go_on
    stream = step.stream.name
    previous = agreed_position(stream, bases)
    if not bases:
        raise NothingToAdopt(f"There is no table of stream {stream} yet.", remedy="let it run")
    unaccounted = _unaccounted(bases, previous)
    if not unaccounted:
        raise NothingToAdopt(
            f"Stream {stream}: every row in its tables is accounted for by a seal.", remedy="let it run"
        )
    topic = with_truncation(step.kafka, read_stream_topics(step.kafka, step.stream, previous), previous)
    if topic.topics and go_on.start not in (GoOnFrom.EARLIEST, GoOnFrom.LATEST, GoOnFrom.ROWS):
        raise RowsOfOtherTopics(
            f"Stream {stream} reads several topics, and {go_on} is of one.",
            remedy="declare a stream of the one topic, adopt, and give the stream its other topics afterwards",
        )
    stored = {name: places(base.table, _tasks(base), topic.numbers) for name, base in bases.items()}
    rows = {name: own.offsets for name, own in stored.items()}
    named = {
        name: own
        if bases[name].sealed or (topic.topics and own)
        else _by_any_columns(bases[name], go_on, topic, ours=bool(own))
        for name, own in rows.items()
    }
    nameless = any(own.without for name, own in stored.items() if not named[name])
    position = go_on_at(stream, step.kafka, go_on, topic, previous, named, nameless=nameless)
    if previous is not None:
        require_none_skipped(stream, previous, topic, position)
    sinks = {
        name: sink
        for name, base in bases.items()
        if go_on.start is GoOnFrom.GROUP and (sink := require_committed(step.kafka, base.table, go_on.group))
    }
    without = {name: own.without for name, own in stored.items() if own.without}
    statement = baseline(rows, previous, retired_sums(bases, previous), topic, position, step.stream.quarantine_table)
    return Adoption(
        go_on=go_on,
        rows={name: sum(len(offsets) for offsets in by_partition.values()) for name, by_partition in rows.items()},
        unaccounted=unaccounted,
        repeated=repeated_offsets(named),
        read_again=read_again(named, position),
        statement=replace(statement, without_coordinates=without),
        without_coordinates=without,
        not_in_rows=not_in_rows(named, position) if previous is None else {},
        sinks=sinks,
    )


def adopt(step: IngestStep, bases: Mapping[str, Base], adoption: Adoption) -> Published:
    """Seal the baseline in every table of the stream, on the bases that were scanned.

    Raises:
        CommitError: something was published meanwhile; nothing was changed.
    """
    extra_keys = {
        name: {
            seal_keys.ADOPT_FROM: adoption.go_on.start.value,
            seal_keys.ADOPT_SOURCE: str(adoption.go_on),
            seal_keys.ADOPT_UNACCOUNTED: adoption.unaccounted.get(name, ""),
        }
        for name in bases
    }
    return publish(step.catalog, seal_all(step, bases, adoption.statement, extra_keys, kind="adopt"))


def _unaccounted(bases: Mapping[str, Base], previous: KafkaStatement | None) -> dict[str, str]:
    reasons = {
        name: f"no rows, where seals account for {count}" for name, count in emptied_tables(bases, previous).items()
    }
    for name, base in bases.items():
        if base.sealed is None and base.has_rows:
            reasons[name] = "rows without a seal"
        elif base.sealed is not None and base.unsealed:
            reasons[name] = (
                f"snapshots {', '.join(str(snapshot.snapshot_id) for snapshot in base.unsealed)} after the last seal"
            )
    return reasons


def _tasks(base: Base) -> list[FileScanTask]:
    return [] if base.snapshot_id is None else list(base.table.scan(snapshot_id=base.snapshot_id).plan_files())


def _by_any_columns(base: Base, go_on: GoOn, topic: TopicState, *, ours: bool) -> Mapping[int, Offsets]:
    """Partition → offsets of the rows, by our columns or another writer's; empty where there are none.

    Raises:
        NoCoordinates: a column that was named is not there.
        RowsOfOtherTopics: some rows are of other topics.
    """
    snapshot = base.table.metadata.snapshot_by_id(base.snapshot_id or 0)
    # Ours, where they were only just added, hold nothing.
    fields = [field for field in base.table.schema().fields if ours or field.name not in COORDINATE_NAMES]
    columns = coordinate_columns(base.name, Schema(*fields), go_on.columns, partitions=len(topic.partitions))
    if snapshot is None or columns is None:
        return {}
    stored = stored_coordinates(base.table, snapshot, columns, topic.topic)
    if stored.of_others:
        raise RowsOfOtherTopics(
            f"{base.name} holds {stored.of_others:,} rows of other topics than {topic.topic}.",
            remedy="move them to a table of their own",
        )
    return {partition: _offsets(runs) for partition, runs in stored.partitions.items()}


def _offsets(runs: Runs) -> Offsets:
    """Each offset as often as it is there."""
    spans = zip(runs.starts.tolist(), runs.ends.tolist(), runs.times.tolist(), strict=True)
    parts = [np.repeat(np.arange(start, end, dtype=np.int64), times) for start, end, times in spans]
    return np.concatenate(parts) if parts else np.array([], np.int64)
