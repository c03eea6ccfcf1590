"""The loss ledger of a stream: what people gave up, by whose run, and why. Every seal repeats all of it.

A range may lie ahead of the position. The run that gets there lands what lies before it, steps over it, and counts it
as lost; until then nothing of it is lost.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

Range = tuple[int, int]
"""Offsets from the first up to, not including, the second."""


@dataclass(frozen=True)
class AcceptedLoss:
    """What one command gave up.

    Args:
        topic_id: of the log that the offsets belong to; of several logs, each has an entry.
        ranges: partition → ranges, apart from each other and in order.
        reason: in the words of who gave them up, or the name of the refusal that was answered.
        run_id: of the command.
        accepted_at_ms: when, milliseconds since the epoch.
        past: the log was cut since, so that other records may have taken these offsets: they are not stepped over.
    """

    topic_id: str
    ranges: dict[int, list[Range]]
    reason: str
    run_id: str
    accepted_at_ms: int
    past: bool = False


Ledger = tuple[AcceptedLoss, ...]


def accepted_ranges(ledger: Iterable[AcceptedLoss], topic_ids: Collection[str]) -> dict[int, list[Range]]:
    """Partition → all ranges of logs as they are now that were given up, in order; what overlaps or touches is one."""
    ranges: dict[int, list[Range]] = {}
    for loss in ledger:
        if loss.topic_id in topic_ids and not loss.past:
            for partition, spans in loss.ranges.items():
                ranges.setdefault(partition, []).extend(spans)
    return {partition: joined(spans) for partition, spans in sorted(ranges.items())}


def joined(spans: Iterable[Range]) -> list[Range]:
    """The same offsets in as few ranges as possible, in order."""
    result: list[Range] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def next_accepted(
    ledger: Iterable[AcceptedLoss], topic_ids: Collection[str], position: Mapping[int, int]
) -> dict[int, Range]:
    """Partition → the nearest range from its position on that was given up, cut off where the position is inside."""
    return {
        partition: (max(spans[0][0], position[partition]), spans[0][1])
        for partition, accepted in accepted_ranges(ledger, topic_ids).items()
        if partition in position and (spans := [span for span in accepted if span[1] > position[partition]])
    }


def reached(ledger: Iterable[AcceptedLoss], topic_ids: Collection[str], position: Mapping[int, int]) -> Ledger:
    """The ledger without what lies ahead of the position: as it stays where a stream begins anew."""
    return tuple(
        replace(loss, ranges=ranges)
        for loss in ledger
        if (ranges := _ranges_before(loss, position) if loss.topic_id in topic_ids else loss.ranges)
    )


def past(ledger: Iterable[AcceptedLoss], topic_ids: Collection[str]) -> Ledger:
    """The ledger of a stream whose log was cut: what was lost of it stays lost, and says nothing of new records."""
    return tuple(replace(loss, past=loss.past or loss.topic_id in topic_ids) for loss in ledger)


def _ranges_before(loss: AcceptedLoss, position: Mapping[int, int]) -> dict[int, list[Range]]:
    capped = {
        partition: [(start, min(end, position.get(partition, 0))) for start, end in spans]
        for partition, spans in loss.ranges.items()
    }
    remaining = {partition: [span for span in spans if span[0] < span[1]] for partition, spans in capped.items()}
    return {partition: spans for partition, spans in remaining.items() if spans}


def is_accepted(
    ledger: Sequence[AcceptedLoss], topic_ids: Collection[str], lost: Mapping[int, Iterable[Range]]
) -> bool:
    """Whether all that was lost is in the ledger."""
    accepted = accepted_ranges(ledger, topic_ids)
    return all(
        any(start <= span[0] and span[1] <= end for start, end in accepted.get(partition, []))
        for partition, spans in lost.items()
        for span in spans
    )
