"""Each record goes to the table that its own field names, decoded against that table alone."""

import json
import pickle

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.formats.json import JsonDecoder, RoutedDecoder, UndecodableType
from lakehouse_tests.formats.json.documents import documents

SCHEMAS = {
    "dog": pa.schema([pa.field("kind", pa.string(), nullable=False), pa.field("a", pa.int32(), nullable=False)]),
    "cat": pa.schema([pa.field("a", pa.timestamp("us", "UTC")), pa.field("b", pa.string())]),
}


def route(*values: bytes | None) -> tuple[dict[str, list[tuple[int, dict[str, object]]]], dict[int, tuple[str, str]]]:
    routed = RoutedDecoder("kind", SCHEMAS).decode(pa.array(values, pa.binary()))
    parts = {name: list(zip(p.rows.tolist(), p.batch.to_pylist(), strict=True)) for name, p in routed.parts.items()}
    return parts, {row: (error.error_class, error.message) for row, error in routed.errors.items()}


def test_records_are_told_apart_wherever_the_field_stands() -> None:
    parts, errors = route(
        b'{"kind":"dog","a":1}',
        b'{"b":"x","kind":"cat"}',
        b'{"nested":{"kind":"cat"},"a":2,"kind":"dog"}',
        b'{"\\u006bind":"d\\u006fg","a":3}',
    )
    dog, cat = parts["dog"], parts["cat"]
    assert dog == [(0, {"kind": "dog", "a": 1}), (2, {"kind": "dog", "a": 2}), (3, {"kind": "dog", "a": 3})]
    assert cat == [(1, {"a": None, "b": "x"})]
    assert errors == {}


@pytest.mark.parametrize(
    ("value", "error_class", "message"),
    [
        (b'{"kind":"bird","a":1}', "unknown_route", "names no table"),
        (b'{"a":1}', "unknown_route", "missing or null"),
        (b'{"kind":null}', "unknown_route", "missing or null"),
        (b'{"kind":1}', "unknown_route", "is not a string"),
        (b'{"kind":1e400}', "unknown_route", "is not a string"),
        (b'{"kind":["dog"]}', "unknown_route", "is not a string"),
        (b'{"kind":"dog"', "not_json", ""),
        (b'["dog"]', "not_an_object", "got list"),
        (None, "tombstone", "no value"),
        (b'{"kind":"dog"}', "missing_field", "`a` is required"),
        (b'{"kind":"dog","a":"x"}', "wrong_type", "`a`: expected integer, got string"),
        (b'{"kind":"cat","a":"x"}', "wrong_type", "`a`: expected an ISO-8601"),
        (b'{"kind":"\\u0000dog\\u0000cat","a":1}', "unknown_route", "names no table"),
    ],
)
def test_what_has_no_table_or_breaks_it_is_an_error(value: bytes | None, error_class: str, message: str) -> None:
    parts, errors = route(b'{"kind":"dog","a":1}', value, b'{"kind":"cat","b":"x"}')
    assert errors[1][0] == error_class
    assert message in errors[1][1]
    assert ([row for row, _ in parts["dog"]], [row for row, _ in parts["cat"]]) == ([0], [2])


def test_of_two_routes_in_a_record_the_last_counts() -> None:
    parts, errors = route(b'{"kind":"cat","kind":"dog","a":1}', b'{"kind":"dog","a":"x","kind":"cat","b":"y","a":null}')
    assert parts["dog"] == [(0, {"kind": "dog", "a": 1})]
    assert parts["cat"] == [(1, {"a": None, "b": "y"})]
    assert errors == {}


def test_a_single_route_still_insists_on_the_field() -> None:
    decoder = RoutedDecoder("kind", {"dog": SCHEMAS["dog"]})
    routed = decoder.decode(pa.array([b'{"a":1}', b'{"kind":"dog","a":1}'], pa.binary()))
    assert routed.errors[0].error_class == "unknown_route"
    assert routed.parts["dog"].rows.tolist() == [1]


def test_the_field_that_routes_must_be_text() -> None:
    with pytest.raises(UndecodableType, match="route dog it is no string column"):
        RoutedDecoder("kind", {"dog": pa.schema([pa.field("kind", pa.int32())])})


FIELDS = {"kind": pa.string(), "a": pa.int32(), "b": pa.string()}
KINDS = st.sampled_from(['"dog"', '"cat"', '"bird"', "1", "null", '"d\\u006fg"'])
RESTS = st.sampled_from(["1", '"x"', "null", '1,"kind":"cat"'])
ROUTED = st.builds(lambda kind, rest: b'{"kind":%s,"a":%s}' % (kind.encode(), rest.encode()), KINDS, RESTS)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(ROUTED, ROUTED, documents(FIELDS), st.none()), max_size=12))
def test_routing_is_decoding_by_the_table_that_the_field_names(values: list[bytes | None]) -> None:
    routed = pickle.loads(pickle.dumps(RoutedDecoder("kind", SCHEMAS))).decode(pa.array(values, pa.binary()))
    placed: dict[int, tuple[str, pa.RecordBatch]] = {}
    for name, part in routed.parts.items():
        placed |= {row: (name, part.batch.slice(i, 1)) for i, row in enumerate(part.rows.tolist())}
    assert sorted([*placed, *routed.errors]) == list(range(len(values)))
    for row, value in enumerate(values):
        wanted = named(value)
        if wanted not in SCHEMAS:
            assert routed.errors[row].error_class in ("unknown_route", "not_json", "not_an_object", "tombstone")
            continue
        alone = JsonDecoder(SCHEMAS[wanted]).decode(pa.array([value], pa.binary()))
        if alone.errors:
            assert routed.errors[row] == alone.errors[0]
        else:
            assert placed[row] == (wanted, alone.batch)


def named(value: bytes | None) -> str:
    """The table that a record names, by another parser."""
    try:
        record = json.loads((value or b"").decode())
    except (ValueError, RecursionError):
        return ""
    kind = record.get("kind") if isinstance(record, dict) else None
    return kind if isinstance(kind, str) else ""
