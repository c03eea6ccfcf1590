"""Which topics a stream of several reads, and which declarations are refused."""

import pytest

from lakehouse.declarations import ByField, Start, Stream, TopicPattern, Topics, ToTable
from lakehouse.declarations.columns.error import DeclarationError

TO = ToTable("raw.orders")


def test_topics_by_name() -> None:
    stream = Stream(name="shop", topics=Topics("orders", "returns"), route=TO)
    assert (stream.topic, stream.topic_names) == ("orders, returns", ("orders", "returns"))
    assert (stream.reads("returns"), stream.reads("others")) == (True, False)


def test_a_pattern_takes_whole_names_and_none_of_kafkas_own() -> None:
    pattern = TopicPattern(".*orders.*", excluding="test.*")
    assert pattern.chosen(["eu.orders", "orders", "test.orders", "__orders", "returns"]) == ["eu.orders", "orders"]
    stream = Stream(name="shop", topics=TopicPattern("orders[.].+"), route=TO)
    assert (stream.topic, stream.topic_names, stream.reads("orders.eu"), stream.reads("orders")) == (
        "/orders[.].+/",
        (),
        True,
        False,
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"topics": Topics()}, "its topics are"),
        ({"topics": Topics("a", "a")}, "its topics are"),
        ({"topics": Topics("a b")}, "cannot name a topic"),
        ({"topics": TopicPattern("(")}, "no regular expression"),
        ({"topics": TopicPattern("")}, "an empty pattern"),
        ({"topics": Topics("a"), "topic": "a"}, "both a topic and topics"),
        ({"topics": Topics("a"), "start": Start.offsets({0: 1})}, "partitions of one topic"),
        ({}, "cannot name a topic"),
    ],
)
def test_what_cannot_work(more: dict[str, object], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        Stream(name="shop", route=ByField("kind", {"a": "raw.a"}), **more)  # type: ignore[arg-type]
