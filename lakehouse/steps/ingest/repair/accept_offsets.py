"""Offsets that a person names and gives up, since they cannot be read: at the stream's position, or ahead of it."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from lakehouse.engines.kafka import read_topic
from lakehouse.engines.kafka.loss_ledger import AcceptedLoss, Range, accepted_ranges, joined
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.engines.kafka.truncation import with_truncation
from lakehouse.errors import LakehouseError
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.plan import IngestPlan, plan_range
from lakehouse.steps.ingest.position import first_offsets, stored_position
from lakehouse.steps.ingest.repair.loss import Loss
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.step import IngestStep, state

LONGEST_REASON = 500  # characters: every seal of the stream repeats it
_OFFSETS = re.compile(r"(\d{1,10}):(\d{1,18})(?:-(\d{1,18}))?")


class OffsetsInvalid(LakehouseError):
    """What was named is no range of offsets that can be given up."""


class ReasonInvalid(LakehouseError):
    """Nobody said why offsets are given up, or said it at too great a length."""


def parse_offsets(texts: Sequence[str]) -> dict[int, list[Range]]:
    """Read `PARTITION:FIRST-LAST` or `PARTITION:OFFSET`, both ends included.

    Returns:
        partition → ranges in order, without their ends.

    Raises:
        OffsetsInvalid: a text is no such range, or two of them overlap.
    """
    ranges: dict[int, list[Range]] = {}
    for text in texts:
        match = _OFFSETS.fullmatch(text)
        if match is None or int(match[3] or match[2]) < int(match[2]):
            raise OffsetsInvalid(
                f"--offsets is {text!r}.",
                remedy="write partition:first-last, both included, such as 0:123-124, or 0:123 for one offset",
            )
        ranges.setdefault(int(match[1]), []).append((int(match[2]), int(match[3] or match[2]) + 1))
    for partition, spans in ranges.items():
        spans.sort()
        for before, after in pairwise(spans):
            if after[0] < before[1]:
                raise OffsetsInvalid(
                    f"--offsets: {_shown(partition, before)} and {_shown(partition, after)} overlap.",
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
    topic = with_truncation(step.kafka, read_topic(step.kafka, step.stream.topic), previous)
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
    accepted = AcceptedLoss(
        topic.topic_id, {partition: list(spans) for partition, spans in offsets.items()}, reason, "", 0
    )
    # A run that reads nothing: it refuses where a run would, and steps over what lies at the position.
    plan = plan_range(stream, previous, topic, first=first, max_records=0, accepted=[accepted])
    _require_unread(stream, plan, topic, offsets)
    return Loss("loss", plan.skipped, {}, reason, state(plan, WriteResult.nothing()), accepted.ranges)


def _require_unread(stream: str, plan: IngestPlan, topic: TopicState, offsets: Mapping[int, Sequence[Range]]) -> None:
    ledger = plan.previous.losses if plan.previous else ()
    before = accepted_ranges(ledger, topic.topic_id)
    for partition, spans in sorted(offsets.items()):
        if partition not in topic.partitions:
            raise OffsetsInvalid(
                f"Stream {stream}: topic {topic.topic} has no partition {partition}.",
                remedy=f"it has {', '.join(map(str, sorted(topic.partitions)))}",
            )
        start, end = plan.start[partition], topic.partitions[partition].last_stable
        for span in spans:
            if span[0] < start:
                raise OffsetsInvalid(
                    f"Stream {stream}: {_shown(partition, span)} of topic {topic.topic} begins before offset {start}, "
                    "up to which the stream has landed all that it will.",
                    remedy="name offsets that are not read yet; rows that should go are deleted from the table",
                )
            if span[1] > end:
                raise OffsetsInvalid(
                    f"Stream {stream}: {_shown(partition, span)} ends beyond topic {topic.topic}, whose last record "
                    f"that can be read there is before offset {end}.",
                    remedy="name offsets that are in the log",
                )
            if twice := [old for old in before.get(partition, []) if old[0] < span[1] and span[0] < old[1]]:
                raise OffsetsInvalid(
                    f"Stream {stream}: of {_shown(partition, span)}, {_shown(partition, twice[0])} was given up "
                    "before.",
                    remedy="let the stream run, which steps over it; or name what lies beside it",
                )


def _shown(partition: int, span: Range) -> str:
    """Both ends included, as the option has them."""
    first, last = span[0], span[1] - 1
    return f"partition {partition} offset {first}" if first == last else f"partition {partition} offsets {first}-{last}"
