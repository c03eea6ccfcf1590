"""Compares what was read with what was planned: each planned offset brought a record, or it is known why not.

Where a partition is short of offsets, Kafka is asked a second time for some of them, by another reader than Spark's. A
record that is there after all was lost on the way. Otherwise the log itself has no record there, and that is as it
should be in two cases: the topic is compacted, or a transaction's marker or its aborted records lie in one of the gaps
(see `kafka.second_look`). Then the seal says how many and why. In any other log there must not be a gap.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from lakehouse.engines.kafka.connection import KafkaRefused
from lakehouse.engines.kafka.second_look import OffsetGap, cleanup_policy, readable, transactional
from lakehouse.engines.kafka.tally import Tally, over_tables
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.received import Stretch
from lakehouse.steps.ingest.refused_batch import BatchRefused
from lakehouse.steps.ingest.report import WriteResult

Because = Literal["", "compaction", "transactions"]
_ASKED_AGAIN = 10
_SHOWN = 5


class RecordsDiffer(BatchRefused):
    """The workers have not read, or not written, just the records that were planned."""


@dataclass(frozen=True)
class Completeness:
    """What was read, beside the plan.

    Args:
        without_record: partition → planned offsets that brought no record, where there are any.
        because: why that can be.
        refusal: why it may not be published.
    """

    without_record: dict[int, int] = field(default_factory=dict[int, int])
    because: Because = ""
    refusal: RecordsDiffer | None = None


def compare(stream: str, plan: IngestPlan, landed: WriteResult, kafka: KafkaSettings) -> Completeness:
    """Compare; Kafka is asked only where offsets brought no record."""
    if problem := _misread(plan, landed):
        return Completeness(refusal=_differs(stream, problem))
    gaps = {
        partition: named
        for partition, span in plan.ranges.items()
        if (named := _gaps(partition, span, landed.received.get(partition, [])))
    }
    if not gaps:
        return Completeness()
    without = {
        partition: end - start - _records(landed.received.get(partition, []))
        for partition, (start, end) in plan.ranges.items()
    }
    without = {partition: offsets for partition, offsets in without.items() if offsets}
    numbers, results = plan.topic.numbers, list[Completeness]()
    for topic, of_topic in numbers.by_topic(gaps).items():
        asked = [OffsetGap(numbers.split(gap.partition)[1], gap.start, gap.end) for gap in _sample(of_topic)]
        missing = {partition: n for partition, n in without.items() if numbers.split(partition)[0] == topic}
        results.append(_explain(stream, topic, missing, asked, kafka, many=numbers.many))
        if results[-1].refusal is not None:
            return results[-1]
    return Completeness(without, results[0].because)


def require_whole(comparison: Completeness) -> None:
    """Refuse to publish what is not just what was planned.

    Raises:
        ReadDiffers: with partition and offsets.
    """
    if comparison.refusal is not None:
        raise comparison.refusal


def _explain(
    stream: str, topic: str, without: dict[int, int], gaps: list[OffsetGap], kafka: KafkaSettings, *, many: bool
) -> Completeness:
    """Ask about one topic; gaps are of its own partitions, `without` is by stream partition."""
    if lost := readable(kafka, topic, gaps):
        locations = ", ".join(f"partition {gap.partition} offset {offset}" for gap, offset in sorted(lost.items()))
        problem = f"topic {topic} has records that the run did not receive: {locations}"
        return Completeness(without, refusal=_differs(stream, problem))
    try:
        policy = cleanup_policy(kafka, topic)
    except KafkaRefused as refused:  # who may read a topic need not be allowed to ask how it is configured
        policy = f"unknown: {refused.message}"
    if "compact" in policy.split(","):
        return Completeness(without, "compaction")
    if transactional(kafka, topic, gaps) is not None:
        return Completeness(without, "transactions")
    offsets, options = sum(without.values()), _options(gaps, topic if many else "")
    return Completeness(
        without,
        refusal=RecordsDiffer(
            f"Stream {stream}: {offsets} planned offset(s) of topic {topic} have no record: {_shown(gaps)}. The topic "
            f"is not compacted (cleanup.policy is {policy}), and there is no trace of a transaction at these offsets; "
            "nothing was published.",
            remedy="find out what happened to the log: a segment that was deleted, a disk that was restored. To go on "
            f"without them, give them up with `lakehouse accept-loss {stream} {options} --reason …`. If the topic "
            "was compacted before, set its cleanup.policy to compact,delete (and min.compaction.lag.ms to "
            "9223372036854775807, so that nothing more goes) until the stream has read on, which takes all such gaps "
            "at once",
        ),
    )


def _misread(plan: IngestPlan, landed: WriteResult) -> str:
    """What no log explains: records twice, from outside the plan, or received and not written; empty if none are."""
    ranges, written = plan.ranges, over_tables(landed.tallies)
    for partition in sorted({*ranges, *landed.received, *written}):
        start, end = ranges.get(partition, (0, 0))
        stretches = sorted(landed.received.get(partition, []), key=lambda stretch: stretch.first)
        span = f"partition {plan.topic.numbers.label(partition)} offsets [{start}, {end})"
        if any(stretch.first < start or stretch.last >= end for stretch in stretches):
            return f"records from outside {span} were read"
        after = [start, *(stretch.last + 1 for stretch in stretches)]
        twice = any(stretch.first < least for stretch, least in zip(stretches, after, strict=False))
        if twice or any(_length(stretch) != stretch.records + stretch.missing for stretch in stretches):
            return f"records of {span} were read twice"
        if (count := written.get(partition, Tally()).count) != _records(stretches):
            return f"of {span}, {_records(stretches)} records were received and {count} written"
    return ""


def _gaps(partition: int, span: tuple[int, int], stretches: Iterable[Stretch]) -> list[OffsetGap]:
    """The first gaps of a partition: before, between and after its stretches, and those named within them."""
    next_offset, end = span
    gaps: list[OffsetGap] = []
    for stretch in sorted(stretches, key=lambda stretch: stretch.first):
        if stretch.first > next_offset:
            gaps.append(OffsetGap(partition, next_offset, stretch.first))
        gaps += [OffsetGap(partition, *gap) for gap in stretch.gaps]
        next_offset = stretch.last + 1
    return [*gaps, OffsetGap(partition, next_offset, end)] if next_offset < end else gaps


def _sample(gaps: Mapping[int, list[OffsetGap]]) -> list[OffsetGap]:
    """The gaps that Kafka is asked about: so many, spread over all that are named."""
    named = [gap for of_partition in gaps.values() for gap in of_partition]
    return named[:: -(-len(named) // _ASKED_AGAIN)]


def _records(stretches: Iterable[Stretch]) -> int:
    return sum(stretch.records for stretch in stretches)


def _length(stretch: Stretch) -> int:
    return stretch.last - stretch.first + 1


def _shown(gaps: list[OffsetGap]) -> str:
    shown = ", ".join(f"partition {gap.partition} offsets [{gap.start}, {gap.end})" for gap in gaps[:_SHOWN])
    return shown + (" and others" if len(gaps) > _SHOWN else "")


def _options(gaps: list[OffsetGap], topic: str) -> str:
    """As the command wants them: both ends included, and of several topics with the topic."""
    prefix = f"{topic}:" if topic else ""
    return " ".join(f"--offsets {prefix}{gap.partition}:{gap.start}-{gap.end - 1}" for gap in gaps[:_SHOWN])


def _differs(stream: str, problem: str) -> RecordsDiffer:
    return RecordsDiffer(
        f"Stream {stream}: {problem}; nothing was published.",
        remedy="run it again; if it comes again, report it: something between Kafka and the workers changes what is "
        "read",
    )
