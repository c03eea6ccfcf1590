"""A table that was taken out of its stream and comes back: what it missed, and whether it lost anything.

Every seal of a stream carries the totals of all its tables, also of one that is declared no more. So a table whose own
newest seal says of its rows what its siblings' newest seals say of them has lost nothing while they went on. It joins
at their position, as a table does that is new; its first seal then says what it missed. A table that was rolled back
alone says less of itself than its siblings do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from lakehouse import seal_keys
from lakehouse.engines.kafka.statement import KafkaStatement, Tallies
from lakehouse.engines.kafka.tally import added

Missed = dict[int, tuple[int, int]]
"""Partition → where the table stood, and where its stream had come to; every partition of the stream."""


@dataclass(frozen=True)
class Absence:
    """Offsets that were read while a table was out of its stream; their records are in its siblings.

    Args:
        start: the first of them.
        end: the first after them.
    """

    table: str
    partition: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.table} was out of the stream in partition {self.partition} offsets [{self.start}, {self.end})"


def progress(statement: KafkaStatement) -> tuple[int, int]:
    """Grows from seal to seal of a stream: what was read or lost, then the position."""
    counts = statement.total_counts
    return counts.read + counts.lost, sum(statement.end.values())


def missed_ranges(table: str, own: KafkaStatement, stream: KafkaStatement) -> Missed | None:
    """What a table missed, by its own newest seal and its siblings' newest; None where it lacks rows, or is ahead."""
    same_log = (own.cluster_id, own.topic_id) == (stream.cluster_id, stream.topic_id)
    if _of(own, table) != _of(stream, table) or (same_log and not own.end.keys() <= stream.end.keys()):
        return None
    before, now = own.numbers, stream.numbers
    # Another log was begun meanwhile: nothing of it was ever in this table.
    missed = {
        partition: (
            own.end.get(partition, 0)
            if same_log and before.topic_id(partition) in ("", now.topic_id(partition))
            else 0,
            end,
        )
        for partition, end in stream.end.items()
    }
    return missed if all(start <= end for start, end in missed.values()) else None


def absences(table: str, missed: Missed) -> tuple[Absence, ...]:
    """For a report, without partitions in which nothing was missed."""
    return tuple(Absence(table, p, start, end) for p, (start, end) in sorted(missed.items()) if start < end)


def joined_key(missed: Missed) -> dict[str, str]:
    """What the first seal of a table says that comes back."""
    ranges = {str(partition): span for partition, span in sorted(missed.items())}
    return {seal_keys.KAFKA_JOINED: msgspec.json.encode(ranges).decode()}


def joined(statement: Mapping[str, str]) -> Missed | None:
    """What a seal's keys say that its table missed before; None where it took part all the time."""
    text = statement.get(seal_keys.KAFKA_JOINED)
    return None if text is None else msgspec.json.decode(text, type=dict[int, tuple[int, int]])


def as_if_present(
    table: str, previous: KafkaStatement, current: KafkaStatement, missed: Missed, *, reprocesses: bool
) -> KafkaStatement:
    """What the seal before a return would say, had the table stayed: of itself what it said, of others what they say.

    Where the table did not stand at the beginning of what it says it missed, its own seal is left as it is.

    Args:
        table: that came back.
        previous: its last seal before.
        current: its first seal after.
        missed: by that seal.
        reprocesses: whether the step of that seal took records from the quarantine.
    """
    if any(start not in (0, previous.end.get(partition, 0)) for partition, (start, _) in missed.items()):
        return previous
    reprocessed = {t: {p: n for p, n in by_p.items() if n.count > 0} for t, by_p in current.tallies.items()}
    return replace(
        previous,
        cluster_id=current.cluster_id,
        topic_id=current.topic_id,
        topics=current.topics,
        end={partition: end for partition, (_, end) in missed.items()},
        totals=_but(table, previous.totals, _less(current.totals, current.tallies)),
        retired=_but(table, previous.retired, current.retired),
        reprocessed=_but(table, previous.reprocessed, _less(current.reprocessed, reprocessed if reprocesses else {})),
        losses=current.losses,
    )


def _of(statement: KafkaStatement, table: str) -> tuple[object, ...]:
    return tuple(kind.get(table, {}) for kind in (statement.totals, statement.retired, statement.reprocessed))


def _but(table: str, own: Tallies, others: Tallies) -> Tallies:
    return {**others, table: own.get(table, {})}


def _less(tallies: Tallies, step: Tallies) -> Tallies:
    return added(tallies, {table: {p: -tally for p, tally in by_p.items()} for table, by_p in step.items()})
