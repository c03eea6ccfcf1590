"""JSON texts as strategies: plausible, odd and hostile ones for every type."""

import json
from typing import TypeVar

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

T = TypeVar("T")

SCALARS: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(7,2)": pa.decimal128(7, 2),
    "decimal(38,10)": pa.decimal128(38, 10),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
NESTED: dict[str, pa.DataType] = {
    "array<int>": pa.list_(pa.field("element", pa.int32())),
    "array<array<string>>": pa.list_(pa.field("element", pa.list_(pa.field("element", pa.string())))),
    "struct<x:int,y:timestamp>": pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.timestamp("us", "UTC"))]),
    "array<struct<x:decimal(7,2)>>": pa.list_(pa.field("element", pa.struct([pa.field("x", pa.decimal128(7, 2))]))),
    "map<string,int>": pa.map_(pa.string(), pa.int32()),
    "map<string,struct<x:date>>": pa.map_(pa.string(), pa.struct([pa.field("x", pa.date32())])),
}
TYPES = SCALARS | NESTED

# fmt: off
_ODD = (
    "null", "true", "false", "0", "-0", "-0.0", "1", "-1", "1.0", "1e2", "1E+2", "1e-2", "01", "+1", ".5", "5.",
    "1e400", "-1e400", "1e-400", "NaN", "Infinity", "-Infinity", "Inf", "-", "1e", "2147483647", "2147483648",
    "-2147483648", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "99999999999999999999999", "16777217", "0.1", "1.005", "12345.67", "123456.78", "99999.99", "99999.995",
    "1.10000", "0x10", "1_0", "nul", "tru", "[]", "{}", "[1]", "[null]", "[1,2.5]", '{"x":1}', '{"x":"1"}',
    '{"x":null}', '{"x":1,"x":2}', '[["a"],null,[]]', "[[1]]", "[1,]", "{,}", "'a'", '""', '"a"', '"1"', '"1.5"',
    '"NaN"', '"Infinity"', '"AA=="', '"AAA"', '"AB=="', '"-_8="', '"1e2"', '"1,000"', '"true"', r'"\u0000"',
    r'"\ud83d\ude00"', r'"\ud800"', r'"\q"', r'"\u12"', '"é"',
)
# fmt: on
_MOMENTS = (
    "2026-01-02T03:04:05Z",
    "2026-01-02 03:04:05Z",
    "2026-01-02T03:04:05.1Z",
    "2026-01-02T03:04:05.123456Z",
    "2026-01-02T03:04:05.1234567899Z",
    "1969-12-31T23:59:59.9999999Z",
    "2026-01-02T03:04:05+01:30",
    "2026-01-02T03:04:05-0130",
    "2026-01-02T03:04:05+01",
    "2026-01-02T03:04:05+18:00",
    "2026-01-02T03:04:05+18:01",
    "2026-01-02T03:04:05-24:00",
    "2026-01-02T03:04:05",
    "2026-01-02T03:04:05.123",
    "2026-01-02T03:04",
    "2026-01-02T03:04Z",
    "2026-01-02T03",
    "2026-01-02",
    "2026-1-2",
    "2024-02-29",
    "2023-02-29",
    "1900-02-29",
    "2000-02-29T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-04-31T00:00:00",
    "2026-01-02T24:00:00Z",
    "2026-01-02T23:59:60Z",
    "0000-01-01T00:00:00Z",
    "0000-02-29",
    "0001-01-01T00:00:00+01:00",
    "0001-01-01T00:00:00Z",
    "1582-10-10T00:00:00Z",
    "9999-12-31T23:59:59.999999Z",
    "9999-12-31T23:59:59-01:00",
    "10000-01-01T00:00:00Z",
    "2026-01-02t03:04:05z",
    "2026-01-02T03:04:05.Z",
    "2026-01-02T03:04:05 Z",
    " 2026-01-02T03:04:05Z",
    "20260102T030405Z",
    "2026-01-02T03:04:05,123Z",
    "2026-01-02T03:04:05+01:30:15",
    "",
    "now",
)


def corpus(examples: st.SearchStrategy[T], size: int) -> list[T]:
    """Many different examples for one Spark job; a failure names its own, so nothing need be shrunk."""
    distinct: dict[str, T] = {}

    @settings(max_examples=size, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(examples)
    def collect(example: T) -> None:
        distinct[repr(example)] = example

    collect()
    return list(distinct.values())


def json_text(value: object) -> str:
    """Compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def scalars(kind: pa.DataType) -> st.SearchStrategy[str]:
    """JSON texts for a column of a scalar type, mostly of that type."""
    odd = st.sampled_from(_ODD)
    moments = st.sampled_from(_MOMENTS).map(json_text)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        made = st.datetimes().map(lambda d: json_text(d.isoformat() + ("Z" if getattr(kind, "tz", None) else "")))
        return moments | made | st.dates().map(lambda d: json_text(d.isoformat())) | odd
    if pa.types.is_decimal(kind):
        numbers = st.decimals(-100_000, 100_000, places=2, allow_nan=False).map(str)
        return numbers | numbers.map(json_text) | odd
    if pa.types.is_floating(kind):
        width = 32 if pa.types.is_float32(kind) else 64
        return st.floats(allow_nan=False, allow_infinity=False, width=width).map(repr) | odd
    if pa.types.is_integer(kind):
        return st.integers(-(2**31), 2**31 - 1).map(str) | st.integers(-(2**65), 2**65).map(str) | odd
    if pa.types.is_binary(kind):
        return st.text("AQgw+/=-\n", max_size=9).map(json_text) | odd
    if pa.types.is_string(kind):
        return st.text(max_size=8).filter(_encodable).map(json_text) | moments | odd
    return st.sampled_from(["true", "false"]) | odd


def values(kind: pa.DataType) -> st.SearchStrategy[str]:
    """JSON texts for a column of any type."""
    anything = st.sampled_from(_ODD)
    if pa.types.is_struct(kind):
        members = [st.tuples(st.just(f.name), values(f.type)) for f in kind]
        return _objects(st.lists(st.one_of(*members), max_size=3)) | anything
    if pa.types.is_list(kind):
        return st.lists(values(kind.value_type), max_size=3).map(lambda texts: f"[{','.join(texts)}]") | anything
    if pa.types.is_map(kind):
        return _objects(st.lists(st.tuples(st.sampled_from("kl"), values(kind.item_type)), max_size=2)) | anything
    return scalars(kind)


def documents(kinds: dict[str, pa.DataType]) -> st.SearchStrategy[bytes]:
    """Whole records: fields in any order, missing, repeated or unknown; damaged at times; or no records at all."""
    members = [st.tuples(st.just(name), values(kind)) for name, kind in kinds.items()]
    whole = st.tuples(*members).map(list).flatmap(st.permutations)
    some = st.lists(st.one_of(*members, st.tuples(st.sampled_from(["zz", "A", ""]), st.sampled_from(_ODD))), max_size=5)
    objects = _objects(whole) | _objects(some)
    encoded = objects.map(lambda text: text.encode("utf-8", "surrogatepass"))
    return st.one_of(encoded, encoded, encoded, encoded.flatmap(_damaged), st.sampled_from(_HOSTILE))


def _objects(members: st.SearchStrategy[list[tuple[str, str]]]) -> st.SearchStrategy[str]:
    return members.map(lambda pairs: "{" + ",".join(f"{json_text(name)}:{text}" for name, text in pairs) + "}")


def _damaged(document: bytes) -> st.SearchStrategy[bytes]:
    def damage(place: int, junk: bytes, cut: int) -> bytes:
        return document[:place] + junk + document[place + cut :]

    places = st.integers(0, len(document))
    junk = st.sampled_from([b"", b"\xff", b"\x00", b"\n", b"\t", b"\xef\xbb\xbf", b"}", b"{", b'"', b",", b" ", b"//"])
    return st.builds(damage, places, junk, st.integers(0, 3))


def _encodable(text: str) -> bool:
    return "\x00" not in text and all(not 0xD800 <= ord(c) <= 0xDFFF for c in text)


_HOSTILE = (
    b"",
    b" ",
    b"null",
    b"5",
    b'"x"',
    b"[]",
    b'[{"a":1}]',
    b"{}",
    b" {} ",
    b"{}\n",
    b"{}{}",
    b"{} x",
    b"{}\x00",
    b'{"a":{"b":{}',
    b'"a":1}',
    b'{"a"\n:\r\n1 }\t',
    b"{'a':1}",
    b'{"\\u0061":1}',
    b'{"a":1,"\\u0061":2}',
    b'{"zz":' + b"[" * 249 + b"]" * 249 + b"}",
    b'{"zz":' + b"[" * 250 + b"]" * 250 + b"}",
    b'{"zz":"' + b"[" * 600 + b'"}',
    b'{"zz":' + b"[" * 5000 + b"}",
)
