"""Which tables records may name: by namespace, pattern and number; a route that could make any is refused."""

import pytest

from lakehouse.declarations import DeclarationError, Raw, Stream, ToNamed
from lakehouse.declarations.routes import route_text


def route(**more: object) -> ToNamed:
    return ToNamed(**{"like": "events.any", "namespaces": ("events",), "field": "tenant", **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("events.t1", ""),
        ("events", "makes no name"),
        ("events.a.b", "makes no name"),
        ("events." + "x" * 101, "makes no name"),
        ("other.t1", "outside events"),
        ("events.T1", "does not match"),
        ("events._t", ""),
    ],
)
def test_a_name_is_judged_without_being_told(name: str, reason: str) -> None:
    refusal = route().refusal(name)
    assert reason in refusal
    assert bool(reason) == bool(refusal)
    assert name not in refusal


def test_those_that_were_made_are_tables_of_the_route_and_no_part_of_its_version() -> None:
    made = route(made=("events.a", "events.any"), most_tables=3)
    assert made.tables == ("events.any", "events.a")
    assert made.room == 1
    assert route_text(made) == route_text(route(most_tables=3))
    assert route(table="events.{}").named("x") == "events.x"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"header": "h"}, "both a field and a header"),
        ({"table": "events.all"}, "the same for each value"),
        ({"namespaces": ()}, "no namespace"),
        ({"namespaces": "events"}, "no namespace"),
        ({"namespaces": ("a.b",)}, "cannot name a table"),
        ({"most_tables": 0}, "most_tables is 0"),
        ({"most_tables": 1001}, "most_tables is 1001"),
        ({"names": "["}, "no regular expression"),
    ],
)
def test_what_cannot_work_is_refused(more: dict[str, object], says: str) -> None:
    with pytest.raises(DeclarationError, match=says):
        Stream(name="s", topic="t", route=route(**more))


def test_a_raw_record_has_no_field() -> None:
    with pytest.raises(DeclarationError, match="a raw record has no field tenant"):
        Stream(name="s", topic="t", route=route(), format=Raw())
    Stream(name="s", topic="t", route=route(field="", header="h"), format=Raw())
