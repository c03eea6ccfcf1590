"""Routes as they are declared: which tables they have, and what is refused."""

import re

import pytest

from lakehouse.declarations import ByField, ByHeader, ByTopic, Raw, Route, Stream, ToAll, ToTable
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.routes import route_text


def test_tables_are_named_once_in_order() -> None:
    route = ByField("kind", {"a": ("raw.a", "raw.b"), re.compile("b.*"): "raw.b", "c": "raw.c"})
    assert route.tables == ("raw.a", "raw.b", "raw.c")
    assert route.exact is None
    assert ByField("kind", {"a": "raw.a"}).exact == {"a": "raw.a"}
    assert ToAll("raw.a", "raw.b").tables == ("raw.a", "raw.b")


def test_a_routes_text_is_the_same_in_every_process_and_old_ones_are_as_they_were() -> None:
    assert route_text(ToTable("raw.a")) == "ToTable(table='raw.a')"
    assert route_text(ByField("k", {"a": "raw.a"})) == "ByField(field='k', routes={'a': 'raw.a'})"
    assert route_text(ByTopic({re.compile("t.*"): "raw.a"})) == "('ByTopic', '', [('/t.*/', 'raw.a')])"
    assert route_text(ByTopic({re.compile("t.*", re.I): "raw.a"})) == "('ByTopic', '', [('/t.*/2', 'raw.a')])"


@pytest.mark.parametrize(
    ("route", "message"),
    [
        (ToAll("raw.a"), "at least 2 tables"),
        (ToAll("raw.a", "raw.a"), "each once"),
        (ByField("", {"a": "raw.a"}), "without field"),
        (ByHeader("kind", {}), "without header"),
        (ByTopic({}), "without topics"),
        (ByTopic({1: "raw.a"}), "chooses no table"),  # type: ignore[dict-item]
        (ByHeader("kind", {re.compile(b"a"): "raw.a"}), "chooses no table"),  # type: ignore[dict-item]
        (ByField("kind", {"a": ()}), "at least 1 table"),
        (ByField("kind", {"a": "nonsense"}), "cannot name a table"),
    ],
)
def test_what_cannot_work(route: Route, message: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        Stream(name="shop", topic="t", route=route)
    assert message in str(refused.value)


def test_a_raw_record_has_no_field_and_may_go_by_header() -> None:
    with pytest.raises(DeclarationError, match="has no field"):
        Stream(name="shop", topic="t", route=ByField("k", {"a": "raw.a"}), format=Raw())
    assert Stream(name="shop", topic="t", route=ByHeader("k", {"a": "raw.a"}), format=Raw()).tables == ("raw.a",)
