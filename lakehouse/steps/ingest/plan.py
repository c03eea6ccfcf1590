"""Plan: from which offset to which, decided before a record is read.

Pure functions of what the tables say (their seals) and what the topic says (its ranges). The end of a range is the last
stable offset, so a plan can be read again and gives the same records.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lakehouse.engines.kafka.loss_ledger import AcceptedLoss, Range, next_accepted
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.steps.ingest.refusals import RetentionOvertook, StartNotInLog
from lakehouse.steps.ingest.topic_identity import require_same_log

POLL_RECORDS = 20_000  # that a consumer takes up at once, also behind the range that it is to read


@dataclass(frozen=True)
class IngestPlan:
    """One bounded range of a topic.

    Args:
        start: partition → first offset, for every partition of the topic.
        end: partition → offset after the last: the position that the tables will tell.
        skipped: partition → the end of its range that is not read, but stepped over, because a person gave it up.
        previous: what the tables said; None on a first start.
        made_at_ms: when, milliseconds since the epoch.
    """

    topic: TopicState
    start: dict[int, int]
    end: dict[int, int]
    previous: KafkaStatement | None
    made_at_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    skipped: dict[int, Range] = field(default_factory=dict[int, Range])

    @property
    def ranges(self) -> dict[int, tuple[int, int]]:
        """What is to be read, of the partitions with something to read."""
        until = {
            partition: self.skipped[partition][0] if partition in self.skipped else end
            for partition, end in sorted(self.end.items())
        }
        return {
            partition: (self.start[partition], end) for partition, end in until.items() if end > self.start[partition]
        }

    @property
    def offsets(self) -> int:
        """How many offsets are to be read."""
        return sum(end - start for start, end in self.ranges.values())

    @property
    def lag_after(self) -> int:
        """Offsets that remain in the log after this plan."""
        return sum(limits.last_stable - self.end[partition] for partition, limits in self.topic.partitions.items())

    @property
    def needed(self) -> bool:
        """Whether there is anything to write: records, a loss, or a position that no seal holds yet."""
        return self.previous is None or self.end != self.previous.end


def require_retained(stream: str, plan: IngestPlan, topic: TopicState) -> None:
    """Say which records retention took while they were being read, once that has failed.

    Spark fails by itself (`failOnDataLoss`) when the log begins after an offset that it asks for, and names no range.

    Raises:
        RetentionOvertook: the log begins after the start of what was planned.
    """
    lost = {
        partition: (start, min(topic.partitions[partition].earliest, end))
        for partition, (start, end) in plan.ranges.items()
        if partition in topic.partitions and topic.partitions[partition].earliest > start
    }
    if lost:
        raise RetentionOvertook(stream, topic.topic, lost, topic.numbers)


def position_in(previous: KafkaStatement, topic: TopicState) -> dict[int, int]:
    """Where each partition stands; one that is new since the last seal at 0, where every log begins.

    A topic that joins a stream of several begins with its oldest record: what it had before was never the stream's.
    """
    joins = {p for p in topic.partitions if topic.joining and topic.numbers.split(p)[0] in topic.joining}
    return {
        partition: previous.end.get(partition, limits.earliest if partition in joins else 0)
        for partition, limits in topic.partitions.items()
    }


def lost_ranges(previous: KafkaStatement, topic: TopicState) -> dict[int, tuple[int, int]]:
    """What retention deleted before it was read, also of partitions that no run has seen yet."""
    return {
        partition: (position, topic.partitions[partition].earliest)
        for partition, position in position_in(previous, topic).items()
        if topic.partitions[partition].earliest > position
    }


def plan_range(
    stream: str,
    previous: KafkaStatement | None,
    topic: TopicState,
    *,
    first: Mapping[int, int],
    max_records: int,
    accepted: Sequence[AcceptedLoss] = (),
) -> IngestPlan:
    """Plan the next range, up to what was given up next, and over it.

    Args:
        stream: the stream's name, for messages.
        previous: what the tables say, see `stored_position`.
        topic: what the broker says.
        first: partition → offset for a first start, already resolved; partitions not named start at earliest.
        max_records: at most this many offsets, shared fairly over partitions.
        accepted: what is being given up now, besides what the tables say was given up before.

    Raises:
        IngestRefused: the stored position and the topic do not fit together.
    """
    if previous is None:
        start = _first_offsets(stream, topic, first)
    else:
        require_same_log(stream, previous, topic)
        if lost := lost_ranges(previous, topic):
            raise RetentionOvertook(stream, topic.topic, lost, topic.numbers)
        start = position_in(previous, topic)
    ledger = (*(previous.losses if previous else ()), *accepted)
    ahead = next_accepted(ledger, topic.numbers.ids, start)
    until = {
        partition: min(
            _until(start[partition], ahead[partition][0]) if partition in ahead else limits.last_stable,
            limits.last_stable,
        )
        for partition, limits in topic.partitions.items()
    }
    taken = share({partition: until[partition] - start[partition] for partition in start}, max_records)
    end = {partition: start[partition] + taken[partition] for partition in start}
    # Offsets that the log does not have yet are not stepped over: nobody has seen what will be there.
    skipped = {
        partition: span
        for partition, span in ahead.items()
        if end[partition] == span[0] and span[1] <= topic.partitions[partition].last_stable
    }
    return IngestPlan(
        topic, start, end | {partition: span[1] for partition, span in skipped.items()}, previous, skipped=skipped
    )


def _until(start: int, given_up: int) -> int:
    """How far to go at once: from far off only to where no consumer has taken up what cannot be read yet."""
    return given_up if given_up - start <= POLL_RECORDS else given_up - POLL_RECORDS


def _first_offsets(stream: str, topic: TopicState, first: Mapping[int, int]) -> dict[int, int]:
    outside = {
        partition: (offset, offset + 1)
        for partition, offset in first.items()
        if partition not in topic.partitions
        or not topic.partitions[partition].earliest <= offset <= topic.partitions[partition].last_stable
    }
    if outside:
        raise StartNotInLog(stream, topic.topic, outside, topic.numbers)
    return {partition: first.get(partition, limits.earliest) for partition, limits in topic.partitions.items()}


def share(available: Mapping[int, int], limit: int) -> dict[int, int]:
    """Divide a limit fairly: every partition gets the same, and what a short one leaves goes to the others.

    Returns:
        partition → at most what is available there; the sum is the smaller of the limit and all that is available.
    """
    taken: dict[int, int] = {}
    remaining = limit
    by_size = sorted(available, key=lambda partition: (available[partition], partition))
    for position, partition in enumerate(by_size):
        fair, extra = divmod(remaining, len(by_size) - position)
        # The remainder of the division goes to the largest partitions, which come last.
        taken[partition] = min(available[partition], fair + (1 if extra and position == len(by_size) - 1 else 0))
        remaining -= taken[partition]
    return {partition: taken[partition] for partition in available}
