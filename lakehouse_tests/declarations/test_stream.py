"""A stream's declaration is refused at once if it cannot work."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from lakehouse.declarations import ByField, DeclarationError, Start, Stream, ToTable


def stream(**more: Any) -> Stream:
    return Stream(**{"name": "orders", "topic": "shop.orders", "route": ToTable("raw.orders"), **more})


def test_defaults() -> None:
    made = stream()
    assert made.tables == ("raw.orders",)
    assert made.quarantine_table == "quarantine.orders"
    assert made.start == Start.earliest()
    assert stream(quarantine="bad.orders").quarantine_table == "bad.orders"


def test_several_values_may_go_to_one_table() -> None:
    route = ByField("kind", {"a": "raw.one", "b": "raw.two", "c": "raw.one"})
    assert stream(route=route).tables == ("raw.one", "raw.two")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"name": "or-ders"}, "cannot name a stream"),
        ({"topic": "shop orders"}, "'shop orders' cannot name a topic"),
        ({"topic": ".."}, "cannot name a topic"),
        ({"topic": "x" * 250}, "cannot name a topic"),
        ({"format": "xml"}, "unknown format 'xml'"),
        ({"max_quarantine_share": 1.5}, "max_quarantine_share is 1.5"),
        ({"max_quarantine_records": -1}, "max_quarantine_records is -1"),
        ({"route": "raw.orders"}, "no route"),
        ({"route": ToTable("orders")}, "'orders' cannot name a table"),
        ({"route": ByField("", {"a": "raw.a"})}, "without field or values"),
        ({"route": ByField("kind", {})}, "without field or values"),
        ({"quarantine": "raw.orders"}, "both a target and the quarantine"),
        ({"quarantine": "bad"}, "'bad' cannot name a table"),
    ],
)
def test_a_stream_that_cannot_work_is_refused(more: dict[str, Any], says: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        stream(**more)
    assert says in str(caught.value)
    assert "Remedy: " in str(caught.value)


def test_starts() -> None:
    moment = datetime(2013, 1, 1, tzinfo=UTC)
    assert Start.timestamp(moment).moment == moment
    assert Start.offsets({0: 17}).positions == {0: 17}
    assert Start.latest().kind == "latest"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Start.timestamp(datetime(2013, 1, 1)),  # noqa: DTZ001 - that is the mistake
        lambda: Start.offsets({}),
        lambda: Start.offsets({0: -2}),
        lambda: Start.offsets({-1: 0}),
    ],
)
def test_a_start_that_is_nowhere_is_refused(make: Callable[[], Start]) -> None:
    with pytest.raises(DeclarationError, match="Remedy: "):
        make()
