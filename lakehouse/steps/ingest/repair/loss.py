"""What a person may give up, in so many offsets, and how it is sealed: through the same protocol as everything else.

A loss record moves the position to where the log begins now, or behind offsets that cannot be read. The offsets in
between are named in the seal and counted under `(lost)`, as if that were a table, so that totals still cover every
offset since the beginning. What is given up goes to the loss ledger (`engines/kafka/loss_ledger.py`) with a reason.

A new epoch begins where positions of the past mean nothing: another topic of the same name, another cluster, a log that
ends before the position. Totals go on, but they are of several logs then, so no range vouches for them (`origin` is
empty). Another log is read from its earliest offset, or from a moment: a topic that was copied to another cluster has
its records at other offsets, and at the same times. In the same log a position stays wherever it still is in the log,
and otherwise moves to its end: what lies before has been read, and nothing may land twice. What comes after it has
never been there before, whatever was given up at these offsets.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from lakehouse import seal_keys
from lakehouse.engines.kafka.loss_ledger import AcceptedLoss, Range, past, reached
from lakehouse.engines.kafka.several_topics.stream_topics import read_stream_topics, stream_offsets_at
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.engines.kafka.statement import LOST, Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.engines.kafka.truncation import with_truncation
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit.chain import KIND_NEW_EPOCH
from lakehouse.protocol.commit import Published, publish
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.plan import lost_ranges, position_in
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.refusals import IngestRefused, Ranges
from lakehouse.steps.ingest.sealing.seal_tables import seal_all
from lakehouse.steps.ingest.topic_identity import require_same_log


class NothingToAccept(LakehouseError):
    """The stored position and the topic fit together."""


@dataclass(frozen=True)
class Loss:
    """What accepting means.

    Args:
        kind: of the seal, `loss` or `new_epoch`.
        lost: partition → offsets that are given up for good.
        doubtful: partition → the range that the refusal named: nobody can tell what of it was read.
        reason: the refusal that this answers, or why somebody gives up what could be read.
        statement: what every table of the stream will say, but for the new line of the ledger.
        accepted: partition → all that is given up now, also what lies ahead of the position and is not lost before the
            stream gets there.
    """

    kind: str
    lost: dict[int, Range]
    doubtful: dict[int, Range]
    reason: str
    statement: KafkaStatement
    accepted: dict[int, list[Range]]

    @property
    def ahead(self) -> dict[int, list[Range]]:
        """Of what is given up, what lies ahead of the position."""
        end = self.statement.end
        later = {
            partition: [span for span in spans if span[0] >= end[partition]]
            for partition, spans in self.accepted.items()
        }
        return {partition: spans for partition, spans in sorted(later.items()) if spans}

    @property
    def offsets(self) -> int:
        """How many offsets are given up."""
        return sum(end - start for spans in self.accepted.values() for start, end in spans)


def find_loss(step: IngestStep, bases: Mapping[str, Base], *, new_epoch: bool, since: datetime | None = None) -> Loss:
    """Compare what the tables say with the topic.

    Args:
        step: of the stream.
        bases: its tables.
        new_epoch: whether the topic is another one by now, or was cut.
        since: with `new_epoch`, from which of Kafka's timestamps on another log is read; None: all of it.

    Raises:
        NothingToAccept: they fit together, or a mere loss is no answer to how they differ, or the other way round.
        IngestRefused: the tables do not agree among themselves, or only a new epoch can help.
    """
    previous = stored_position(step.stream.name, bases)
    topic = with_truncation(step.kafka, read_stream_topics(step.kafka, step.stream, previous), previous)
    begin = stream_offsets_at(step.kafka, topic, since) if since else None
    return plan_loss(step.stream.name, previous, topic, new_epoch=new_epoch, begin=begin)


def plan_loss(
    stream: str,
    previous: KafkaStatement | None,
    topic: TopicState,
    *,
    new_epoch: bool,
    begin: Mapping[int, int] | None = None,
) -> Loss:
    """Decide what accepting means; pure. `begin`: partition → where another log is read from, else from its earliest.

    Raises:
        NothingToAccept: see `find_loss`.
        IngestRefused: only a new epoch can help.
    """
    if previous is None:
        raise NothingToAccept(f"Stream {stream} has not begun, so nothing can be lost.", remedy="let it run")
    return _epoch(stream, previous, topic, begin or {}) if new_epoch else _loss(stream, previous, topic)


def accept_loss(step: IngestStep, bases: Mapping[str, Base], loss: Loss) -> Published:
    """Seal it in every table of the stream, on the bases that it was found from.

    Raises:
        CommitError: something else was published meanwhile; nothing was changed.
    """
    statement, now = loss.statement, time.time_ns() // 1_000_000
    if loss.accepted:
        accepted = [
            AcceptedLoss(topic_id, ranges, loss.reason, step.attempt.run_id, now)
            for topic_id, ranges in by_topic_id(statement.numbers, loss.accepted).items()
        ]
        statement = replace(statement, losses=(*statement.losses, *accepted))
    loss_keys = {
        seal_keys.LOSS_REASON: loss.reason,
        seal_keys.LOSS_DOUBTFUL: msgspec.json.encode(_texts(loss.doubtful)).decode(),
    }
    return publish(step.catalog, seal_all(step, bases, statement, dict.fromkeys(bases, loss_keys), kind=loss.kind))


def _loss(stream: str, previous: KafkaStatement, topic: TopicState) -> Loss:
    require_same_log(stream, previous, topic)
    lost = lost_ranges(previous, topic)
    if not lost:
        raise NothingToAccept(
            f"Stream {stream}: topic {topic.topic} still has everything from the stored position on.",
            remedy="let it run; nothing is to be accepted",
        )
    start = position_in(previous, topic)
    end = {partition: lost[partition][1] if partition in lost else start[partition] for partition in start}
    statement = _statement(topic, start, end, lost, previous)
    return Loss("loss", lost, {}, "RetentionOvertook", statement, _spans(lost))


def _epoch(stream: str, previous: KafkaStatement, topic: TopicState, begin: Mapping[int, int]) -> Loss:
    reason = _why_not_the_same(stream, previous, topic)
    if reason is None:
        raise NothingToAccept(
            f"Stream {stream}: topic {topic.topic} is the one that was read, and it reaches to the stored position.",
            remedy="let it run; if retention deleted unread records, accept that without --new-epoch",
        )
    same = _same_logs(previous, topic)
    lost = {partition: span for partition, span in lost_ranges(previous, topic).items() if partition in same}
    start = {partition: max(limits.earliest, begin.get(partition, 0)) for partition, limits in topic.partitions.items()}
    start |= {
        partition: min(offset, topic.partitions[partition].last_stable)
        for partition, offset in position_in(previous, topic).items()
        if partition in same
    }
    end = {partition: lost[partition][1] if partition in lost else start[partition] for partition in start}
    # What was given up ahead of the position of a log that is no more, was never lost.
    ledger = reached(previous.losses, previous.numbers.ids, previous.end)
    ledger = past(ledger, {topic.numbers.topic_id(partition) for partition in same})
    refused_last = {
        partition: times
        for partition, times in (previous.refused_last or {}).items()
        if partition in same and partition not in reason.ranges
    }
    statement = _statement(topic, start, end, lost, previous)
    logs = previous.logs + 1 if previous.is_from_beginning else 1
    statement = replace(statement, origin={}, logs=logs, losses=ledger, refused_last=refused_last)
    return Loss(KIND_NEW_EPOCH, lost, reason.ranges, type(reason).__name__, statement, _spans(lost))


def _same_logs(previous: KafkaStatement, topic: TopicState) -> set[int]:
    """The partitions whose log is the one that was read, or was begun by a topic that no run has seen yet."""
    before, now = previous.numbers, topic.numbers
    if previous.cluster_id != topic.cluster_id:
        return set()
    return {p for p in topic.partitions if before.topic_id(p) in ("", now.topic_id(p))}


def by_topic_id(numbers: TopicNumbers, ranges: Mapping[int, list[Range]]) -> dict[str, dict[int, list[Range]]]:
    """Id of a topic → its partitions' ranges: the ledger has an entry for each log."""
    result: dict[str, dict[int, list[Range]]] = {}
    for partition, spans in ranges.items():
        result.setdefault(numbers.topic_id(partition), {})[partition] = spans
    return result


def _why_not_the_same(stream: str, previous: KafkaStatement, topic: TopicState) -> IngestRefused | None:
    try:
        require_same_log(stream, previous, topic)
    except IngestRefused as refused:
        return refused
    return None


def _statement(
    topic: TopicState, start: dict[int, int], end: dict[int, int], lost: Ranges, previous: KafkaStatement
) -> KafkaStatement:
    tallies = {partition: Tally.of_range(*span) for partition, span in lost.items()}
    return KafkaStatement(
        cluster_id=topic.cluster_id,
        topic=topic.topic,
        topic_id=topic.topic_id,
        topics=topic.topics,
        leader_epochs=topic.leader_epochs,
        start=start,
        end=end,
        tallies={LOST: tallies} if tallies else {},
        lost=_spans(lost),
        counts=Counts(lost=sum(tally.count for tally in tallies.values())),
    ).after(previous)


def _spans(ranges: Ranges) -> dict[int, list[Range]]:
    return {partition: [span] for partition, span in ranges.items()}


def _texts(ranges: Mapping[int, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    return {str(partition): span for partition, span in sorted(ranges.items())}
