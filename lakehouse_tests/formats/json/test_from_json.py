"""The decoder against Spark's from_json: stricter in ways that are written down here, never different."""

import json
import re
from collections.abc import Callable

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from lakehouse.formats.json import JsonDecoder
from lakehouse.formats.verdict import RecordError
from lakehouse_tests.formats.json.documents import TYPES, corpus, documents

pytestmark = pytest.mark.spark

Refusal = Callable[[bytes, RecordError], bool]


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


STRICTER: dict[str, Refusal] = {
    "no record at all (Spark: a row of nulls)": lambda v, e: not v.strip(b" \t\r\n"),
    "something after the object (Spark does not look)": lambda v, e: "trailing characters" in e.message,
    "single quotes": lambda v, e: e.error_class == "not_json" and b"'" in v,
    "NaN and infinity as bare words": lambda v, e: e.error_class == "not_json" and bool(re.search(rb"NaN|Infinity", v)),
    "bytes that are not UTF-8 (Spark: U+FFFD)": lambda v, e: "not UTF-8" in e.message,
    "half a surrogate pair (Spark: ?)": lambda v, e: (
        e.error_class == "not_json" and bool(re.search(rb"\\u[dD][89a-fA-F]", v))
    ),
    "nesting beyond 250 levels (Spark: 1000)": lambda v, e: "nested more than 250" in e.message,
    "a string column given another kind (Spark: its text)": lambda v, e: ": expected string, got " in e.message,
    "a number column given NaN or infinity as text": lambda v, e: "expected number" in e.message,
    "a number too large (Spark: infinity)": lambda v, e: e.message.endswith("the number does not fit the type"),
    "a decimal that must be rounded": lambda v, e: "does not fit 7 digits" in e.message or "fit 38 digits" in e.message,
    "a decimal with thousands separators": lambda v, e: (
        "expected a decimal number" in e.message and bool(re.search(rb'"[^"]*,[^"]*"', v))
    ),
    "a timestamp as seconds, partly written or without its zone": lambda v, e: (
        "timestamp with an offset" in e.message or ": expected string, got integer" in e.message
    ),
    "a timestamp without zone, partly written": lambda v, e: "timestamp without zone" in e.message,
    "a date partly written, with a time, or with signs and spaces": lambda v, e: "ISO-8601 date" in e.message,
    "a year outside 0001 to 9999": lambda v, e: "the year is not within" in e.message,
    "base64 with control characters that JSON wants escaped": lambda v, e: (
        e.error_class == "not_json" and bool(re.search(rb'"[^"]*[\x00-\x1f][^"]*"', v))
    ),
    "base64 with spaces, line breaks or other control characters": lambda v, e: (
        "expected base64" in e.message and bool(re.search(rb"\\[nu]| ", v))
    ),
}
"""What we refuse and Spark takes. Everything else that Spark takes we take, with the very same value."""


@pytest.mark.slow
@pytest.mark.parametrize("ddl", TYPES)
def test_what_we_take_spark_takes_alike_and_what_spark_refuses_we_refuse(spark: SparkSession, ddl: str) -> None:
    values = corpus(documents({"a": TYPES[ddl]}), 150)
    schema = pa.schema([pa.field("a", TYPES[ddl])])
    ours = JsonDecoder(schema).decode(pa.array(values, pa.binary()))
    corrupt, theirs = from_json(spark, ddl, values)
    for row, value in enumerate(values):
        error = ours.errors.get(row)
        if error is None and corrupt[row]:
            assert repeats_a_field(value), f"only Spark refuses {value!r}"
        elif error is None:
            assert comparable(ours.batch.column("a")[row]) == comparable(theirs[row]), value
        elif not corrupt[row]:
            assert any(reason(value, error) for reason in STRICTER.values()), f"only Spark takes {value!r}: {error}"


def repeats_a_field(value: bytes) -> bool:
    """The one thing that Spark refuses and we take: of a field given twice the first is text that is no timestamp.

    Spark reads each, we read the last. The first must still be of the right JSON kind.
    """
    repeated: list[bool] = []

    def see(pairs: list[tuple[str, object]]) -> dict[str, object]:
        repeated.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    json.loads(value, object_pairs_hook=see)
    return any(repeated)


def from_json(spark: SparkSession, ddl: str, values: list[bytes]) -> tuple[list[bool], pa.ChunkedArray]:
    """For every value whether Spark calls it corrupt, and what it reads."""
    frame = spark.createDataFrame(pa.table({"i": range(len(values)), "v": pa.array(values, pa.binary())}))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_corrupt"}
    parsed = f.from_json(f.col("v").cast("string"), f"a {ddl}, _corrupt string", options)
    rows = frame.select("i", parsed.alias("j")).select("i", f.col("j._corrupt").isNotNull().alias("bad"), "j.a")
    table = rows.orderBy("i").toArrow()
    return table["bad"].to_pylist(), table["a"]


def comparable(value: pa.Scalar) -> str:
    """Floats by their digits, so that -0.0 is not 0.0; instants by their moment; of a key twice in a map the last."""
    plain = value.as_py()
    if isinstance(value.type, pa.MapType) and plain is not None:
        plain = dict(plain)
    return re.sub(r"zoneinfo.ZoneInfo\(key='(Etc/)?UTC'\)", "UTC", repr(plain))


@pytest.mark.parametrize("name", STRICTER)
def test_every_reason_of_the_list_has_an_example(spark: SparkSession, name: str) -> None:
    ddl, value = EXAMPLES[name]
    decoded = JsonDecoder(pa.schema([pa.field("a", TYPES[ddl])])).decode(pa.array([value], pa.binary()))
    assert STRICTER[name](value, decoded.errors[0])
    assert from_json(spark, ddl, [value])[0] == [False]


EXAMPLES: dict[str, tuple[str, bytes]] = dict(
    zip(
        STRICTER,
        [
            ("int", b" "),
            ("int", b'{"a":1}}'),
            ("int", b"{'a':1}"),
            ("double", b'{"a":NaN}'),
            ("string", b'{"a":"\xff"}'),
            ("string", rb'{"a":"\ud800"}'),
            ("int", b'{"zz":' + b"[" * 250 + b"]" * 250 + b"}"),
            ("string", b'{"a":1}'),
            ("double", b'{"a":"Infinity"}'),
            ("double", b'{"a":1e400}'),
            ("decimal(7,2)", b'{"a":1.005}'),
            ("decimal(7,2)", b'{"a":"1,000"}'),
            ("timestamp", b'{"a":"2026-01-02"}'),
            ("timestamp_ntz", b'{"a":"2026-01-02"}'),
            ("date", b'{"a":"2026-01"}'),
            ("date", b'{"a":"0000-01-01"}'),
            ("binary", b'{"a":"\x00AA=="}'),
            ("binary", rb'{"a":"AAAA\nAAAA"}'),
        ],
        strict=True,
    )
)


def test_a_map_with_a_key_twice_is_the_one_value_that_differs(spark: SparkSession) -> None:
    """Spark keeps both entries, which no map can hold; here the last counts, as for every field."""
    value = b'{"a":{"k":1,"k":2}}'
    decoded = JsonDecoder(pa.schema([pa.field("a", TYPES["map<string,int>"])])).decode(pa.array([value], pa.binary()))
    assert decoded.batch.column("a").to_pylist() == [[("k", 2)]]
    assert from_json(spark, "map<string,int>", [value])[1].to_pylist() == [[("k", 1), ("k", 2)]]


def test_json_of_python_is_read_as_python_reads_it() -> None:
    record = {"a": 'é\u2028\x7f"\\/'}
    for ascii_only in (True, False):
        value = json.dumps(record, ensure_ascii=ascii_only).encode()
        decoded = JsonDecoder(pa.schema([pa.field("a", pa.string())])).decode(pa.array([value], pa.binary()))
        assert decoded.batch.to_pylist() == [record]
