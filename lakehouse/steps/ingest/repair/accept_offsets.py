"""Offsets that a person names and gives up, since they cannot be read: at the stream's position, or ahead of it."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from lakehouse.engines.kafka.loss_ledger import AcceptedLoss, Range, accepted_ranges, joined
from lakehouse.engines.kafka.several_topics.stream_topics import read_stream_topics
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.engines.kafka.truncation import with_truncation
from lakehouse.errors import LakehouseError
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.plan import IngestPlan, plan_range
from lakehouse.steps.ingest.position import first_offsets, stored_position
from lakehouse.steps.ingest.repair.loss import Loss, by_topic_id
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.sealing.statement import state

LONGEST_REASON = 500  # characters: every seal of the stream repeats it
_OFFSETS = re.compile(r"((?:[A-Za-z0-9._-]{1,249}:)?\d{1,10}):(\d{1,18})(?:-(\d{1,18}))?")


_ONE_TOPIC = TopicNumbers((("", ""),))


class OffsetsInvalid(LakehouseError):
    """What was named is no range of offsets that can be given up."""


class ReasonInvalid(LakehouseError):
    """Nobody said why offsets are given up, or said it at too great a length."""


def parse_offsets(texts: Sequence[str], numbers: TopicNumbers | None = None) -> dict[int, list[Range]]:
    """Read `PARTITION:FIRST-LAST` or `PARTITION:OFFSET`, both ends included; of several topics `TOPIC:PARTITION:…`.

    Args:
        texts: as they were typed.
        numbers: of the stream's topics; None: it has one.

    Returns:
        partition → ranges in order, without their ends.

    Raises:
        OffsetsInvalid: a text is no such range, or two of them overlap.
    """
    ranges: dict[int, list[Range]] = {}
    for text in texts:
        match = _OFFSETS.fullmatch(text)
        partition = None if match is None else (numbers or _ONE_TOPIC).read(match[1])
        if match is None or partition is None or int(match[3] or match[2]) < int(match[2]):
            form = "topic:partition:first-last" if numbers and numbers.many else "partition:first-last"
            example = f"{numbers.names[0]}:0" if numbers and numbers.many else "0"
            raise OffsetsInvalid(
                f"--offsets is {text!r}.",
                remedy=f"write {form}, both included, such as {example}:123-124, or {example}:123 for one offset",
            )
        ranges.setdefault(partition, []).append((int(match[2]), int(match[3] or match[2]) + 1))
    for partition, spans in ranges.items():
        spans.sort()
        label = (numbers or _ONE_TOPIC).label(partition)
        for before, after in pairwise(spans):
            if after[0] < before[1]:
                raise OffsetsInvalid(
                    f"--offsets: {_shown(label, before)} and {_shown(label, after)} overlap.",
                    remedy="name each offset once",
                )
    return {partition: joined(spans) for partition, spans in sorted(ranges.items())}


def require_reason(reason: str) -> str:
    """The reason without space around it.

    Raises:
        ReasonInvalid: it is empty, too long, or holds characters that do not print.
    """
    reason = reason.strip()
    if not reason:
        raise ReasonInvalid(
            "--reason is missing: every audit shows why offsets were given up.",
            remedy='say why, such as --reason "its timestamp cannot be read"',
        )
    if len(reason) > LONGEST_REASON or not reason.isprintable():
        raise ReasonInvalid(
            f"--reason is no line of text of at most {LONGEST_REASON} characters.", remedy="say it shorter, in one line"
        )
    return reason


def find_offsets_loss(
    step: IngestStep, bases: Mapping[str, Base], offsets: Mapping[int, Sequence[Range]], reason: str
) -> Loss:
    """What it means to give up these offsets of the stream's topic.

    Raises:
        OffsetsInvalid: they are not in the log, were read already, or were given up before.
        IngestRefused: the tables and the topic do not fit together.
    """
    previous = stored_position(step.stream.name, bases)
    topic = with_truncation(step.kafka, read_stream_topics(step.kafka, step.stream, previous), previous)
    first = first_offsets(step.stream, step.kafka, topic) if previous is None else {}
    return plan_offsets_loss(step.stream.name, previous, topic, offsets, reason, first=first)


def plan_offsets_loss(
    stream: str,
    previous: KafkaStatement | None,
    topic: TopicState,
    offsets: Mapping[int, Sequence[Range]],
    reason: str,
    *,
    first: Mapping[int, int],
) -> Loss:
    """The same; pure. A stream that has not begun begins with it, at its declared start.

    Raises:
        OffsetsInvalid: see `find_offsets_loss`.
        IngestRefused: see `find_offsets_loss`.
    """
    given_up = {partition: list(spans) for partition, spans in offsets.items()}
    accepted = [
        AcceptedLoss(topic_id, ranges, reason, "", 0)
        for topic_id, ranges in by_topic_id(topic.numbers, given_up).items()
    ]
    # A run that reads nothing: it refuses where a run would, and steps over what lies at the position.
    plan = plan_range(stream, previous, topic, first=first, max_records=0, accepted=accepted)
    _require_unread(stream, plan, topic, offsets)
    return Loss("loss", plan.skipped, {}, reason, state(plan, WriteResult.nothing()), given_up)


def _require_unread(stream: str, plan: IngestPlan, topic: TopicState, offsets: Mapping[int, Sequence[Range]]) -> None:
    ledger = plan.previous.losses if plan.previous else ()
    before = accepted_ranges(ledger, topic.numbers.ids)
    for partition, spans in sorted(offsets.items()):
        name = topic.numbers.label(partition)
        if partition not in topic.partitions:
            raise OffsetsInvalid(
                f"Stream {stream}: topic {topic.topic} has no partition {name}.",
                remedy=f"it has {', '.join(map(topic.numbers.label, sorted(topic.partitions)))}",
            )
        start, end = plan.start[partition], topic.partitions[partition].last_stable
        for span in spans:
            if span[0] < start:
                raise OffsetsInvalid(
                    f"Stream {stream}: {_shown(name, span)} of topic {topic.topic} begins before offset {start}, "
                    "up to which the stream has landed all that it will.",
                    remedy="name offsets that are not read yet; rows that should go are deleted from the table",
                )
            if span[1] > end:
                raise OffsetsInvalid(
                    f"Stream {stream}: {_shown(name, span)} ends beyond topic {topic.topic}, whose last record "
                    f"that can be read there is before offset {end}.",
                    remedy="name offsets that are in the log",
                )
            if twice := [old for old in before.get(partition, []) if old[0] < span[1] and span[0] < old[1]]:
                raise OffsetsInvalid(
                    f"Stream {stream}: of {_shown(name, span)}, {_shown(name, twice[0])} was given up before.",
                    remedy="let the stream run, which steps over it; or name what lies beside it",
                )


def _shown(partition: str, span: Range) -> str:
    """Both ends included, as the option has them."""
    first, last = span[0], span[1] - 1
    return f"partition {partition} offset {first}" if first == last else f"partition {partition} offsets {first}-{last}"
