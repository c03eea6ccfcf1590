"""Every value becomes a row with exactly its values, or an error that names field and reason."""

import datetime as dt
import json
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.formats.json import JsonDecoder, UndecodableType
from lakehouse_tests.formats.json.documents import TYPES, documents

NAME = pa.field("name", pa.string(), nullable=False)


def decode(schema: pa.Schema, *values: bytes | None) -> tuple[list[dict[str, object]], dict[int, str]]:
    decoded = JsonDecoder(schema).decode(pa.array(values, pa.binary()))
    assert decoded.batch.num_rows == len(values)
    assert decoded.batch.schema.equals(schema)
    return decoded.batch.to_pylist(), {row: error.error_class for row, error in decoded.errors.items()}


def test_a_record_of_all_types_arrives_as_it_was_written() -> None:
    schema = pa.schema([pa.field(f"c{i}", kind) for i, kind in enumerate(TYPES.values())])
    record = [
        True,
        -(2**31),
        2**63 - 1,
        1.5,
        0.1,
        "12345.67",
        1,
        "é\x00\n",
        "AAE=",
        "2024-02-29",
        "1969-12-31T23:59:59.9999999-01:00",
        "2026-01-02 03:04:05.5",
        [1, None],
        [["a"], None, []],
        {"y": "2026-01-02T03:04:05Z"},
        [{"x": 0.5}],
        {"k": 1, "l": None},
        {},
    ]
    text = json.dumps({f"c{i}": value for i, value in enumerate(record)})
    rows, errors = decode(schema, text.encode())
    assert errors == {}
    assert list(rows[0].values()) == [
        True,
        -(2**31),
        2**63 - 1,
        1.5,
        0.1,
        Decimal("12345.67"),
        Decimal(1),
        "é\x00\n",
        b"\x00\x01",
        dt.date(2024, 2, 29),
        dt.datetime(1970, 1, 1, 0, 59, 59, 999999, tzinfo=dt.UTC),
        dt.datetime(2026, 1, 2, 3, 4, 5, 500000),  # noqa: DTZ001
        [1, None],
        [["a"], None, []],
        {"x": None, "y": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)},
        [{"x": Decimal("0.50")}],
        [("k", 1), ("l", None)],
        [],
    ]


@pytest.mark.parametrize(
    ("value", "error_class", "message"),
    [
        (None, "tombstone", "no value"),
        (b"", "not_json", "truncated"),
        (b'{"name":"a"', "not_json", "truncated"),
        (b'{"name":"a"} x', "not_json", "trailing characters"),
        (b'{"name":"a"}{"name":"a"}', "not_json", "trailing characters"),
        (b"{'name':'a'}", "not_json", "malformed"),
        (b'{"name":"a","n":NaN}', "not_json", "malformed"),
        (b'{"name":"a","other":01}', "not_json", "malformed"),
        (b'{"name":"a\nb"}', "not_json", "malformed"),
        (b'{"name":"\\ud800"}', "not_json", ""),
        (b'\xef\xbb\xbf{"name":"a"}', "not_json", "malformed"),
        (b'{"name":"a","other":"\xff"}', "not_json", "not UTF-8"),
        (b'{"name":"a","other":' + b"[" * 250 + b"]" * 250 + b"}", "not_json", "250 levels"),
        (b'["name"]', "not_an_object", "got list"),
        (b"null", "not_an_object", "got null"),
        (b"{}", "missing_field", "`name` is required"),
        (b'{"name":null}', "missing_field", "`name` is required"),
        (b'{"Name":"a"}', "missing_field", "`name` is required"),
        (b'{"name":1}', "wrong_type", "`name`: expected string, got integer"),
        (b'{"name":"a","n":"1"}', "wrong_type", "`n`: expected integer, got string"),
        (b'{"name":"a","n":1.0}', "wrong_type", "`n`: expected integer, got number"),
        (b'{"name":"a","n":2147483648}', "out_of_range", "`n`: the number does not fit"),
        (b'{"name":"a","d":1.005}', "out_of_range", "`d`: the number does not fit 5 digits with 2 decimals"),
        (b'{"name":"a","d":1000}', "out_of_range", "`d`: the number does not fit 5 digits with 2 decimals"),
        (b'{"name":"a","d":"abc"}', "wrong_type", "`d`: expected a decimal number"),
        (b'{"name":"a","d":true}', "wrong_type", "`d`: expected a decimal number"),
        (b'{"name":"a","x":1e400}', "out_of_range", "`x`: the number does not fit"),
        (b'{"name":"a","at":"2026-01-02T03:04:05"}', "wrong_type", "`at`: expected an ISO-8601 timestamp with an off"),
        (b'{"name":"a","at":"2026-02-30T03:04:05Z"}', "out_of_range", "`at`: there is no such day"),
        (b'{"name":"a","at":"0000-01-01T00:00:00Z"}', "out_of_range", "`at`: the year"),
        (b'{"name":"a","legs":[{"to":"x"},{}]}', "missing_field", "`legs[].to` is required"),
        (b'{"name":"a","legs":[{"to":"x"},{"to":5}]}', "wrong_type", "`legs[1].to`: expected string, got integer"),
    ],
)
def test_an_unacceptable_record_says_which_field_and_why(value: bytes | None, error_class: str, message: str) -> None:
    schema = pa.schema(
        [
            NAME,
            pa.field("n", pa.int32()),
            pa.field("d", pa.decimal128(5, 2)),
            pa.field("x", pa.float64()),
            pa.field("at", pa.timestamp("us", "UTC")),
            pa.field("legs", pa.list_(pa.struct([pa.field("to", pa.string(), nullable=False)]))),
        ]
    )
    decoded = JsonDecoder(schema).decode(pa.array([value], pa.binary()))
    assert decoded.errors[0].error_class == error_class
    assert message in decoded.errors[0].message


def test_bad_records_do_not_touch_their_neighbours() -> None:
    values: list[bytes | None] = [b'{"name":"%d"}' % i for i in range(10_000)]
    bad = {0: b"{", 4095: None, 4096: b'{"name":7}', 9_999: b"{}"}
    for row, value in bad.items():
        values[row] = value
    rows, errors = decode(pa.schema([NAME]), *values)
    assert errors == {0: "not_json", 4095: "tombstone", 4096: "wrong_type", 9_999: "missing_field"}
    assert all(rows[i]["name"] == str(i) for i in range(10_000) if i not in bad)


def test_of_a_field_given_twice_the_last_counts_and_null_is_absent() -> None:
    schema = pa.schema([pa.field("a", pa.int64())])
    rows, errors = decode(schema, b'{"a":1,"a":2}', b'{"a":1,"a":null}', b'{"a":null,"\\u0061":3}')
    assert ([row["a"] for row in rows], errors) == ([2, None, 3], {})


def test_unknown_fields_are_skipped_and_brackets_in_strings_are_no_nesting() -> None:
    deep = b'{"name":"a","other":{"x":[1e400,"' + b"[" * 600 + b'"]}}'
    assert decode(pa.schema([NAME]), deep) == ([{"name": "a"}], {})


def test_a_column_may_have_any_name() -> None:
    schema = pa.schema([pa.field(name, pa.int32()) for name in ("class", "f0", "a b", "é", "")])
    rows, errors = decode(schema, b'{"class":1,"f0":2,"a b":3,"\xc3\xa9":4,"":5}')
    assert (list(rows[0].values()), errors) == ([1, 2, 3, 4, 5], {})


def test_no_values_no_rows() -> None:
    assert decode(pa.schema([NAME])) == ([], {})


def test_large_and_sliced_arrays_are_read_too() -> None:
    values = pa.array([b"x", b'{"name":"a"}', b'{"name":"b"}', b"y"], pa.large_binary()).slice(1, 2)
    decoded = JsonDecoder(pa.schema([NAME])).decode(values)
    assert (decoded.batch.column("name").to_pylist(), decoded.errors) == (["a", "b"], {})


def test_a_schema_with_large_types_gives_small_ones() -> None:
    decoder = JsonDecoder(pa.schema([pa.field("a", pa.large_list(pa.large_string()))]))
    decoded = decoder.decode(pa.array([b'{"a":["x"]}'], pa.binary()))
    assert decoded.batch.schema.field("a").type == pa.list_(pa.string())


def test_a_type_that_json_has_no_form_for_is_refused_at_once() -> None:
    with pytest.raises(UndecodableType, match=r"a\.b\[\] has type time64"):
        JsonDecoder(pa.schema([pa.field("a", pa.struct([pa.field("b", pa.list_(pa.time64("us")))]))]))


def test_messages_show_no_values() -> None:
    schema = pa.schema(
        [pa.field("a", pa.int32()), pa.field("b", pa.timestamp("us", "UTC")), pa.field("c", pa.string())]
    )
    values = [
        b'{"a":4711.5}',
        b'{"a":"secret"}',
        b'{"b":"secret"}',
        b'{"c":["secret"]}',
        b'{"a":471147114711}',
        b'{"c":"secret',
    ]
    decoded = JsonDecoder(schema).decode(pa.array(values, pa.binary()))
    assert len(decoded.errors) == len(values)
    assert not [e for e in decoded.errors.values() if "secret" in e.message or "4711" in e.message]


SCHEMA = {
    "a": pa.int32(),
    "b": pa.decimal128(7, 2),
    "c": pa.timestamp("us", "UTC"),
    "d": TYPES["map<string,struct<x:date>>"],
}


@settings(max_examples=150, deadline=None)
@given(st.lists(documents(SCHEMA) | st.none(), max_size=12))
def test_a_record_means_the_same_alone_and_among_others(values: list[bytes | None]) -> None:
    """The parser has a quick way for many good records; the verdict on one must not depend on its neighbours."""
    schema = pa.schema([pa.field(name, kind, nullable=name != "a") for name, kind in SCHEMA.items()])
    decoder = pickle.loads(pickle.dumps(JsonDecoder(schema)))
    together = decoder.decode(pa.array(values, pa.binary()))
    for row, value in enumerate(values):
        alone = decoder.decode(pa.array([value], pa.binary()))
        assert together.errors.get(row) == alone.errors.get(0)
        if not alone.errors:
            assert together.batch.slice(row, 1).equals(alone.batch)
