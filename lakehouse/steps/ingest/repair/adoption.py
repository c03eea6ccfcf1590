"""Rows that no seal accounts for become the baseline from which a stream goes on, because a person says so.

What is adopted is what a scan of the coordinate columns finds in every table of the stream: these are the new totals,
and later rows are proven on top of them. Where the adopted rows came from, and whether they are all that there should
be, nobody can prove any more; the seal and every audit say whose run adopted them. What earlier seals say was retired
stays retired: a mirror must not take what is left of a changelog for all of it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from lakehouse import seal_keys
from lakehouse.engines.kafka.statement import LOST, Counts, KafkaStatement, Tallies
from lakehouse.engines.kafka.stream_topics import read_stream_topics
from lakehouse.engines.kafka.tally import Tally, added
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.engines.kafka.truncation import with_truncation
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit.coordinates import Offsets, coordinates
from lakehouse.proofs.audit.retirement import retired_of
from lakehouse.protocol.commit import Published, publish
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.plan import position_in, require_same_log
from lakehouse.steps.ingest.position import agreed_position, emptied_tables
from lakehouse.steps.ingest.refusals import OffsetsSkipped, PositionBeyondEnd
from lakehouse.steps.ingest.step import IngestStep, seal_all

Rows = Mapping[str, Mapping[int, Offsets]]
"""Table → partition → offsets of its rows."""


class GoOnFrom(StrEnum):
    """Where the stream goes on: after its rows (or at the sealed position), or at an end of the log."""

    ROWS = "rows"
    EARLIEST = "earliest"
    LATEST = "latest"


class NothingToAdopt(LakehouseError):
    """Every row is accounted for by a seal."""


@dataclass(frozen=True)
class Adoption:
    """What adopting means.

    Args:
        rows: table → rows that it holds.
        unaccounted: table → rows, or commits, that no seal accounts for, or rows that are gone, in words.
        repeated: partition → offsets that are there more than once, in one table or several.
        read_again: partition → rows that lie at or after the position, so that they would land twice.
        statement: what every table of the stream will say.
    """

    go_on_from: GoOnFrom
    rows: dict[str, int]
    unaccounted: dict[str, str]
    repeated: dict[int, int]
    read_again: dict[int, int]
    statement: KafkaStatement


def find_adoption(step: IngestStep, bases: Mapping[str, Base], go_on_from: GoOnFrom) -> Adoption:
    """Take stock of the tables and of the topic.

    Raises:
        NothingToAdopt: no table holds anything that a seal does not account for.
        IngestRefused: the sealed tables do not agree, or the position that rows or seals tell is not in the log.
        OffsetsSkipped: the stream would go on behind offsets that nobody has read.
    """
    previous = agreed_position(step.stream.name, bases)
    unaccounted = _unaccounted(bases, previous)
    if not unaccounted:
        raise NothingToAdopt(
            f"Stream {step.stream.name}: every row in its tables is accounted for by a seal.", remedy="let it run"
        )
    rows = {
        name: coordinates(base.table, list(base.table.scan(snapshot_id=base.snapshot_id).plan_files()))
        if base.snapshot_id is not None
        else {}
        for name, base in bases.items()
    }
    topic = with_truncation(step.kafka, read_stream_topics(step.kafka, step.stream, previous), previous)
    position = _position(step.stream.name, rows, previous, topic, go_on_from)
    if previous is not None:
        _require_none_skipped(step.stream.name, previous, topic, position)
    return Adoption(
        go_on_from=go_on_from,
        rows={name: sum(len(offsets) for offsets in by_partition.values()) for name, by_partition in rows.items()},
        unaccounted=unaccounted,
        repeated=_repeated(rows),
        read_again=_beyond(rows, position),
        statement=_statement(rows, previous, _retired(bases, previous), topic, position, step.stream.quarantine_table),
    )


def adopt(step: IngestStep, bases: Mapping[str, Base], adoption: Adoption) -> Published:
    """Seal the baseline in every table of the stream, on the bases that were scanned.

    Raises:
        CommitError: something was published meanwhile; nothing was changed.
    """
    extra_keys = {
        name: {
            seal_keys.ADOPT_FROM: adoption.go_on_from.value,
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


def _position(
    stream: str, rows: Rows, previous: KafkaStatement | None, topic: TopicState, go_on_from: GoOnFrom
) -> dict[int, int]:
    if go_on_from is GoOnFrom.EARLIEST:
        return {partition: limits.earliest for partition, limits in topic.partitions.items()}
    if go_on_from is GoOnFrom.LATEST:
        return {partition: limits.last_stable for partition, limits in topic.partitions.items()}
    if previous is not None:
        require_same_log(stream, previous, topic)
        return position_in(previous, topic)
    after = {
        partition: max(
            int(by_partition[partition].max()) + 1 for by_partition in rows.values() if partition in by_partition
        )
        for partition in _partitions(rows)
    }
    beyond = {
        partition: (topic.partitions[partition].last_stable if partition in topic.partitions else 0, end)
        for partition, end in after.items()
    }
    if beyond := {partition: span for partition, span in beyond.items() if span[0] < span[1]}:
        raise PositionBeyondEnd(stream, topic.topic, beyond)
    return {partition: after.get(partition, limits.earliest) for partition, limits in topic.partitions.items()}


def _require_none_skipped(
    stream: str, previous: KafkaStatement, topic: TopicState, position: Mapping[int, int]
) -> None:
    """Refuse to pass over offsets: what is given up is in the loss ledger, and adopting writes nothing there.

    Raises:
        OffsetsSkipped: with the ranges.
    """
    same_log = (previous.cluster_id, previous.topic_id) == (topic.cluster_id, topic.topic_id)
    unread = (
        position_in(previous, topic)
        if same_log
        else {partition: limits.earliest for partition, limits in topic.partitions.items()}
    )
    if skipped := {
        partition: (unread[partition], offset) for partition, offset in position.items() if offset > unread[partition]
    }:
        raise OffsetsSkipped(stream, topic.topic, skipped, go_on_from="rows" if same_log else "earliest")


def _retired(bases: Mapping[str, Base], previous: KafkaStatement | None) -> Tallies:
    """What was retired of each table, by its own seals (it may have been rolled back), or else its siblings'.

    Of tables that are in the stream no more, their siblings' seals say it.
    """
    retired = {name: dict(tallies) for name, tallies in (previous.retired if previous else {}).items()}
    for name, base in bases.items():
        if base.sealed is not None:
            retired[name] = retired_of(base.table, base.snapshot_id)
    return {name: by_partition for name, by_partition in retired.items() if by_partition}


def _statement(
    rows: Rows,
    previous: KafkaStatement | None,
    retired: Tallies,
    topic: TopicState,
    position: dict[int, int],
    quarantine: str,
) -> KafkaStatement:
    stored = {
        table: {partition: Tally.of(offsets) for partition, offsets in by_partition.items()}
        for table, by_partition in rows.items()
    }
    # Rows of tables that are in the stream no more, and what was lost, were not looked at.
    others = {table: dict(sums) for table, sums in (previous.totals if previous else {}).items() if table not in stored}
    totals = {**added(stored, {table: sums for table, sums in retired.items() if table in stored}), **others}
    row_counts = {table: sum(tally.count for tally in sums.values()) for table, sums in totals.items() if table != LOST}
    before = previous.total_counts if previous else Counts()
    return KafkaStatement(
        cluster_id=topic.cluster_id,
        topic=topic.topic,
        topic_id=topic.topic_id,
        topics=topic.topics,
        leader_epochs=topic.leader_epochs,
        start=position,
        end=position,
        totals={table: by_partition for table, by_partition in totals.items() if by_partition},
        total_counts=Counts(
            read=sum(row_counts.values()) + before.filtered,
            written=sum(row_counts.values()) - row_counts[quarantine],
            quarantined=row_counts[quarantine],
            tombstones=min(before.tombstones, row_counts[quarantine]),
            filtered=before.filtered,
            lost=before.lost,
            bytes=before.bytes,
        ),
        retired=retired,
        losses=previous.losses if previous else (),
        reprocessed=previous.reprocessed if previous else {},
    )


def _partitions(rows: Rows) -> set[int]:
    return {partition for by_partition in rows.values() for partition in by_partition}


def _repeated(rows: Rows) -> dict[int, int]:
    repeats: Counter[int] = Counter()
    for partition in _partitions(rows):
        offsets = np.concatenate(
            [by_partition[partition] for by_partition in rows.values() if partition in by_partition]
        )
        repeats[partition] = len(offsets) - len(np.unique(offsets))
    return {partition: times for partition, times in repeats.items() if times}


def _beyond(rows: Rows, position: Mapping[int, int]) -> dict[int, int]:
    counts: Counter[int] = Counter()
    for by_partition in rows.values():
        for partition, offsets in by_partition.items():
            counts[partition] += int((offsets >= position.get(partition, np.iinfo(np.int64).max)).sum())
    return {partition: times for partition, times in counts.items() if times}
