"""Sending the demo's messages, each exactly once, however often it is asked and wherever it was interrupted.

Every message has its place in a partition (number i of flights goes to partition i mod n, a change of a flight goes by
its key), and the producer leaves no gaps: what a partition holds is always a prefix of what belongs there. So the ends
of the partitions say which messages are still missing; no other record is kept.
(Messages that a person sends to a demo topic by hand before it is loaded are counted as if they were the demo's.)
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich.console import Console

from lakehouse.demo.change_sending import missing_changes
from lakehouse.demo.changes import CHANGE_MESSAGES, PARTITIONS, FlightChanges
from lakehouse.demo.flights import FIRST_YEAR, FlightFeed
from lakehouse.demo.reference import MESSAGES, reference_values
from lakehouse.engines.kafka import Record, create_topic, send
from lakehouse.errors import LakehouseError
from lakehouse.settings import KafkaSettings


class DemoTopic(NamedTuple):
    """A topic of the demo: how it is cut, how many messages belong in it, and which a cluster still lacks."""

    partitions: int
    messages: int
    missing: Callable[[KafkaSettings, Sequence[int]], Iterator[Record]]


DEMO_TOPICS = {
    "flights": DemoTopic(4, FIRST_YEAR, lambda _, ends: _missing(FlightFeed().first_year(), 0, ends)),
    "reference": DemoTopic(2, MESSAGES, lambda _, ends: _missing(reference_values(), 0, ends)),
    "flight_changes": DemoTopic(
        PARTITIONS,
        CHANGE_MESSAGES,
        lambda kafka, ends: missing_changes(kafka, "flight_changes", FlightChanges(), ends),
    ),
}


class DemoTopicDiffers(LakehouseError):
    """A topic of a demo's name has another number of partitions."""


def load_demo(
    kafka: KafkaSettings, *, topics: Sequence[str] = tuple(DEMO_TOPICS), console: Console | None = None
) -> dict[str, int]:
    """Create the demo's topics and send what they do not hold yet.

    Args:
        kafka: How to reach the cluster.
        topics: Which ones.
        console: Where progress is shown.

    Returns:
        How many messages were sent to each topic now.

    Raises:
        DemoTopicDiffers: A topic exists, cut into another number of partitions.
        AnotherHistory: The topic of changes has begun with others.
    """
    return {topic: _complete(kafka, topic, console) for topic in topics}


def send_days(kafka: KafkaSettings, days: int, *, console: Console | None = None) -> int:
    """Send the next days to `flights`, after the year 2013 itself; a day that was interrupted counts as the first.

    Args:
        kafka: How to reach the cluster.
        days: How many.
        console: Where progress is shown.

    Returns:
        How many messages were sent.
    """
    _complete(kafka, "flights", console)
    ends = _ends(kafka, "flights")
    first_missing = _first_missing(ends)
    feed = FlightFeed()
    sent = 0
    for number, (start, end) in enumerate(_pairs(feed.ends())):
        if end <= first_missing:
            continue
        if days == 0:
            break
        days -= 1
        values = feed.day(number)
        sent += send(
            kafka, "flights", _missing(values, start, ends), total=end - max(start, first_missing), console=console
        )
    return sent


def _complete(kafka: KafkaSettings, topic: str, console: Console | None) -> int:
    demo = DEMO_TOPICS[topic]
    ends = _ends(kafka, topic)
    missing_count = demo.messages - sum(ends)
    if missing_count <= 0:
        return 0
    return send(kafka, topic, demo.missing(kafka, ends), total=missing_count, console=console)


def _ends(kafka: KafkaSettings, topic: str) -> list[int]:
    """The end of each partition; the topic is created if it does not exist."""
    demo = DEMO_TOPICS[topic]
    state = create_topic(kafka, topic, demo.partitions, config={"retention.ms": "-1"})
    if len(state.partitions) != demo.partitions:
        raise DemoTopicDiffers(
            f"Topic {topic} at {kafka.bootstrap_servers} has {len(state.partitions)} partitions, "
            f"the demo's has {demo.partitions}.",
            remedy="delete it, or load the demo into another cluster.",
        )
    return [state.partitions[partition].last_stable for partition in range(demo.partitions)]


def _first_missing(ends: Sequence[int]) -> int:
    """The number of the first message that a topic with these ends does not hold."""
    return min(end * len(ends) + partition for partition, end in enumerate(ends))


def _missing(values: Sequence[bytes], first: int, ends: Sequence[int]) -> Iterator[Record]:
    """Of the messages that begin with number `first`, those that are not held yet."""
    for number, value in enumerate(values, first):
        position, partition = divmod(number, len(ends))
        if position >= ends[partition]:
            yield Record(value, partition=partition)


def _pairs(ends: Iterator[int]) -> Iterator[tuple[int, int]]:
    start = next(ends)
    for end in ends:
        yield start, end
        start = end
