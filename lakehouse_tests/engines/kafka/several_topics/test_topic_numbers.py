"""A partition of any topic of a stream is one number, and it says which topic and partition it is."""

import pytest

from lakehouse.engines.kafka.several_topics.topic_numbers import STRIDE, TopicNumbers

SINGLE_TOPIC = TopicNumbers((("orders", "i"),))
MANY = TopicNumbers((("orders", "i"), ("returns", "j")), many=True)


def test_in_a_stream_of_one_topic_the_numbers_are_kafkas() -> None:
    assert (SINGLE_TOPIC.split(7), SINGLE_TOPIC.label(7), SINGLE_TOPIC.read("7")) == (("orders", 7), "7", 7)
    assert SINGLE_TOPIC.read("orders:7") is None


def test_of_several_topics_the_label_names_the_topic() -> None:
    assert MANY.stream_partition("returns", 3) == STRIDE + 3
    assert (MANY.split(STRIDE + 3), MANY.label(STRIDE + 3), MANY.read("returns:3")) == (
        ("returns", 3),
        "returns:3",
        STRIDE + 3,
    )
    assert MANY.by_topic({0: "a", STRIDE + 3: "b"}) == {"orders": {0: "a"}, "returns": {3: "b"}}
    assert MANY.of_topic("returns", {3: "b"}) == {STRIDE + 3: "b"}
    assert MANY.labelled({STRIDE: 5, 1: 4}) == {"orders:1": 4, "returns:0": 5}


@pytest.mark.parametrize("label", ["3", "others:3", "returns:", "returns:x", ":3"])
def test_a_label_that_is_none(label: str) -> None:
    assert MANY.read(label) is None


def test_a_number_that_no_topic_has_is_shown_as_such() -> None:
    assert (MANY.label(5 * STRIDE + 1), MANY.topic_id(5 * STRIDE)) == ("topic #5:1", "")


def test_a_topic_with_another_id_was_made_anew() -> None:
    now = TopicNumbers((("orders", "i"), ("returns", "k"), ("new", "l")), many=True)
    assert MANY.renewed(now) == {"returns": ("j", "k")}
