"""Where a stream stands: what its tables say together, or why nobody can tell; and where it begins.

All tables of a stream carry the same seal. A new one joins at their position, and so does one that comes back
(`proofs/audit/absence.py`).
"""

from collections.abc import Mapping

from lakehouse.declarations import Stream
from lakehouse.engines.kafka.several_topics.stream_topics import stream_offsets_at
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.proofs.audit.absence import Missed, missed_ranges, progress
from lakehouse.protocol.completion.completion import stopped_publish
from lakehouse.protocol.seals.base import Base
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.refusals import (
    PositionsDiffer,
    PublishStopped,
    RowsWithoutSeal,
    TableEmptied,
    UnsealedCommit,
)


def stored_position(stream: str, bases: Mapping[str, Base]) -> KafkaStatement | None:
    """The position that all tables of a stream agree on, or None where none has begun.

    A table without rows and seal beside sealed ones has just been added to the stream; it joins at their position. So
    does one that was out of the stream meanwhile and lost nothing.

    Raises:
        RowsWithoutSeal: a table holds rows and no position.
        TableEmptied: a table holds neither, and its siblings say that it should hold rows.
        PositionsDiffer: one table was rolled back alone.
        UnsealedCommit: somebody wrote outside the protocol after the last seal.
    """
    statements = sealed_statements(bases)
    unsealed = [name for name, base in bases.items() if name not in statements and base.has_rows]
    if unsealed:
        raise RowsWithoutSeal(stream, unsealed)
    foreign = {
        name: [snapshot.snapshot_id for snapshot in bases[name].unsealed] for name in statements if bases[name].unsealed
    }
    if foreign:
        raise UnsealedCommit(stream, foreign)
    position = agreed_position(stream, bases)
    if emptied := emptied_tables(bases, position):
        raise TableEmptied(stream, emptied)
    return position


def emptied_tables(bases: Mapping[str, Base], position: KafkaStatement | None) -> dict[str, int]:
    """Table → rows that its siblings' seals account for, of tables that have neither rows nor a seal."""
    rows = {
        name: sum(tally.count for tally in position.totals.get(name, {}).values()) if position else 0
        for name, base in bases.items()
        if base.sealed is None and not base.has_rows
    }
    return {name: count for name, count in rows.items() if count}


def sealed_statements(bases: Mapping[str, Base]) -> dict[str, KafkaStatement]:
    """What the newest seal of each table says, of those that have one."""
    read = {name: KafkaStatement.from_keys(base.sealed.seal.statement) for name, base in bases.items() if base.sealed}
    return {name: statement for name, statement in read.items() if statement is not None}


def agreed_position(stream: str, bases: Mapping[str, Base]) -> KafkaStatement | None:
    """The one position that all seals tell, or None where there is no seal.

    Raises:
        PublishStopped: one lacks what a publish has left for it.
        PositionsDiffer: they do not agree.
    """
    statements = sealed_statements(bases)
    if not statements:
        return None
    if stopped := stopped_publish(bases.values()):
        raise PublishStopped(stream, stopped)
    furthest = _furthest(bases, statements)
    position, excused = statements[furthest], _missed(bases, statements, furthest)
    if any(_state(s) != _state(position) and name not in excused for name, s in statements.items()):
        # A table that was set back to before records were reprocessed lacks them, though it stands where all stand.
        late = {
            name: sum(map(statement.reprocessed_rows, statement.reprocessed)) for name, statement in statements.items()
        }
        positions = {name: statement.end for name, statement in statements.items()}
        raise PositionsDiffer(stream, positions, late if len(set(late.values())) > 1 else None)
    return position


def first_offsets(stream: Stream, kafka: KafkaSettings, topic: TopicState) -> dict[int, int]:
    """Partition → offset at which a stream begins that has no position yet, as it declares.

    Partitions that are not among them begin at the earliest.
    """
    start = stream.start
    if start.kind == "latest":
        return {partition: limits.last_stable for partition, limits in topic.partitions.items()}
    if start.kind == "timestamp" and start.moment is not None:
        return stream_offsets_at(kafka, topic, start.moment)
    return dict(start.positions)


def joining(bases: Mapping[str, Base]) -> dict[str, Missed]:
    """Table → what it missed, of those that come back to their stream now."""
    statements = sealed_statements(bases)
    return _missed(bases, statements, _furthest(bases, statements)) if statements else {}


def _missed(bases: Mapping[str, Base], statements: Mapping[str, KafkaStatement], furthest: str) -> dict[str, Missed]:
    """Table → what it missed, of those that another step sealed last than the others, and that lost no row."""
    position, attempt = statements[furthest], _attempt(bases[furthest])
    missed = {
        name: missed_ranges(name, statement, position)
        for name, statement in statements.items()
        if (_state(statement), statement.totals) != (_state(position), position.totals)
        and _attempt(bases[name]) != attempt
    }
    return {name: ranges for name, ranges in missed.items() if ranges is not None}


def _furthest(bases: Mapping[str, Base], statements: Mapping[str, KafkaStatement]) -> str:
    """The table whose seal has come furthest."""
    times = {name: base.sealed.timestamp_ms for name, base in bases.items() if base.sealed}
    return max(statements, key=lambda name: (*progress(statements[name]), times[name]))


def _attempt(base: Base) -> str:
    return base.sealed.seal.attempt if base.sealed else ""


def _state(statement: KafkaStatement) -> tuple[object, ...]:
    return statement.end, statement.topic_id, statement.cluster_id, statement.topics, statement.reprocessed
