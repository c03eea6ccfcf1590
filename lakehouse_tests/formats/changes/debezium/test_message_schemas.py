"""Where a message carries its schema, the schema decides: a value arrives as what it is at the source, or not at all.

Guarded mechanism: how a value is written is taken from the schema beside it, and not from the declaration alone.
"""

import base64
import datetime as dt
from decimal import Decimal
from typing import Any

import pyspark.sql.types as T  # noqa: N812
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.declarations import Changelog, Debezium
from lakehouse_tests.formats.changes.decoding import changelog, debezium, decode, wrapped

LONG, TEXT, AMOUNT, TIMESTAMP = T.LongType(), T.StringType(), T.DecimalType(12, 2), T.TimestampNTZType()
UNAVAILABLE = "__debezium_unavailable_value"
MOMENT = dt.datetime(2024, 2, 29, 12, 34, 56, 789_000)  # noqa: DTZ001
MILLIS = 1_709_210_096_789
TIME, CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
Described = dict[str, Any]


def whole(name: str = "", kind: str = "int64") -> Described:
    return {"type": kind, "optional": True, **({"name": name, "version": 1} if name else {})}


def decimal(scale: int) -> Described:
    return {"type": "bytes", "name": CONNECT + "Decimal", "version": 1, "parameters": {"scale": str(scale)}}


def fields(columns: dict[str, Described]) -> list[Described]:
    return [{**described, "field": name} for name, described in columns.items()]


def envelope(columns: dict[str, Described]) -> Described:
    images = [{"type": "struct", "fields": fields(columns), "field": image} for image in ("before", "after")]
    return {"type": "struct", "fields": [*images, {"type": "string", "field": "op"}], "name": "things.Envelope"}


def precise(unscaled: int) -> str:
    return base64.b64encode(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)).decode()


def message(value: Any, described: Described, **more: Any) -> dict[str, Any]:
    row = {"id": 1, "c": value}
    return wrapped(debezium("c", row, **more), envelope({"id": whole(), "c": described}))


def log_of(kind: T.DataType, form: Debezium | None = None) -> Changelog:
    return changelog({"id": LONG, "c": kind}, format=form or Debezium())


def arrives(value: Any, described: Described, kind: T.DataType, form: Debezium | None = None) -> Any:
    """What the column holds, or the class of the error."""
    read = decode([message(value, described)], log_of(kind, form))
    return read.errors[0][0] if read.errors else read.rows[0]["after"]["c"]


@pytest.mark.parametrize(
    ("kind", "described", "value", "column"),
    [
        (AMOUNT, decimal(2), precise(3838), Decimal("38.38")),
        (AMOUNT, decimal(4), precise(383_801), "out_of_range"),
        (AMOUNT, decimal(4), precise(383_800), Decimal("38.38")),
        (AMOUNT, decimal(0), precise(38), Decimal("38.00")),
        (AMOUNT, decimal(-2), precise(1), Decimal("100.00")),
        (AMOUNT, decimal(0), precise(10**10), "out_of_range"),
        (AMOUNT, {"type": "bytes", "name": CONNECT + "Decimal"}, precise(38), "wrong_type"),
        (AMOUNT, {"type": "bytes"}, precise(38), "wrong_type"),
        (AMOUNT, {"type": "string"}, "38.38", Decimal("38.38")),
        (AMOUNT, {"type": "string"}, "NaN", "wrong_type"),
        (AMOUNT, {"type": "double"}, 38.38, Decimal("38.38")),
        (AMOUNT, whole(), 38, Decimal("38.00")),
        (AMOUNT, whole(TIME + "MicroTime"), 38, "wrong_type"),
        (
            AMOUNT,
            {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"},
            {"scale": 1, "value": precise(383)},
            Decimal("38.30"),
        ),
        (AMOUNT, {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}, precise(3838), "wrong_type"),
        (TIMESTAMP, whole(TIME + "Timestamp"), MILLIS, MOMENT),
        (TIMESTAMP, whole(CONNECT + "Timestamp"), MILLIS, MOMENT),
        (TIMESTAMP, whole(TIME + "MicroTimestamp"), MILLIS * 1000, MOMENT),
        (TIMESTAMP, whole(TIME + "NanoTimestamp"), MILLIS * 10**6, MOMENT),
        (TIMESTAMP, whole(TIME + "NanoTimestamp"), MILLIS * 10**6 + 1, "out_of_range"),
        (TIMESTAMP, whole(), MILLIS, "wrong_type"),
        (TIMESTAMP, whole(TIME + "MicroTime"), 1, "wrong_type"),
        (TIMESTAMP, {"type": "string", "name": TIME + "IsoTimestamp"}, "2024-02-29T12:34:56.789Z", MOMENT),
        (TIMESTAMP, {"type": "string", "name": TIME + "ZonedTimestamp"}, "2024-02-29T12:34:56.789Z", "wrong_type"),
        (
            T.TimestampType(),
            {"type": "string", "name": TIME + "ZonedTimestamp"},
            "2024-02-29T12:34:56.789Z",
            MOMENT.replace(tzinfo=dt.UTC),
        ),
        (T.TimestampType(), {"type": "string", "name": TIME + "IsoTimestamp"}, "2024-02-29T12:34:56Z", "wrong_type"),
        (T.TimestampType(), whole(TIME + "Timestamp"), MILLIS, "wrong_type"),
        (T.DateType(), whole(TIME + "Date", "int32"), 19_782, dt.date(2024, 2, 29)),
        (T.DateType(), whole(CONNECT + "Date", "int32"), 19_782, dt.date(2024, 2, 29)),
        (T.DateType(), {"type": "string", "name": TIME + "IsoDate"}, "2024-02-29Z", dt.date(2024, 2, 29)),
        (T.DateType(), whole(kind="int32"), 19_782, "wrong_type"),
        (T.DateType(), whole(TIME + "Timestamp"), 19_782, "wrong_type"),
        (LONG, whole(TIME + "MicroTime"), 5, 5),
        (LONG, whole(TIME + "Time", "int32"), 5, "wrong_type"),
        (LONG, whole(TIME + "NanoTime"), 5, "wrong_type"),
        (LONG, whole(TIME + "Timestamp"), 5, "wrong_type"),
        (LONG, whole(TIME + "MicroDuration"), 5, 5),
        (LONG, whole(TIME + "Date", "int32"), 5, 5),
        (LONG, decimal(0), precise(5), "wrong_type"),
        (T.IntegerType(), whole(), 2**31, "out_of_range"),
        (T.DoubleType(), {"type": "double"}, 0.1, 0.1),
        (T.DoubleType(), {"type": "double"}, "-Infinity", float("-inf")),
        (T.DoubleType(), whole(), 2**53, 2.0**53),
        (T.DoubleType(), whole(), 2**53 + 1, "out_of_range"),
        (T.DoubleType(), decimal(1), precise(1), "wrong_type"),
        (T.FloatType(), {"type": "float"}, 0.5, 0.5),
        (T.FloatType(), {"type": "double"}, 0.1, "wrong_type"),
        (T.FloatType(), whole(), 2**24 + 1, "out_of_range"),
        (T.BinaryType(), {"type": "bytes"}, "AQI=", b"\x01\x02"),
        (T.BinaryType(), {"type": "bytes", "name": "io.debezium.data.Bits"}, "AQ==", b"\x01"),
        (T.BinaryType(), decimal(2), "AQI=", "wrong_type"),
        (T.BinaryType(), {"type": "string"}, "AQID", "wrong_type"),
        (TEXT, {"type": "string", "name": "io.debezium.data.Json"}, "{}", "{}"),
        (TEXT, {"type": "bytes"}, "AQI=", "wrong_type"),
        (TEXT, decimal(2), precise(3838), "wrong_type"),
        (T.BooleanType(), {"type": "boolean"}, True, True),
        (T.ArrayType(AMOUNT), {"type": "array", "items": decimal(1)}, [precise(5), None], [Decimal("0.50"), None]),
        (T.ArrayType(TIMESTAMP), {"type": "array", "items": whole(TIME + "Timestamp")}, [MILLIS], [MOMENT]),
        (
            T.MapType(TEXT, TIMESTAMP),
            {"type": "map", "keys": {"type": "string"}, "values": whole(TIME + "Timestamp")},
            {"a": MILLIS},
            [("a", MOMENT)],
        ),
        (
            T.StructType([T.StructField("at", TIMESTAMP)]),
            {"type": "struct", "fields": fields({"at": whole(TIME + "Timestamp")})},
            {"at": MILLIS},
            {"at": MOMENT},
        ),
    ],
)
def test_the_schema_decides(kind: T.DataType, described: Described, value: Any, column: Any) -> None:
    assert arrives(value, described, kind) == column
    assert arrives(None, described, kind) is None


@pytest.mark.parametrize(
    "form", [Debezium(decimals="string", timestamps="text"), Debezium(timestamps="nanos")], ids=str
)
def test_and_not_what_was_declared_of_the_connector(form: Debezium) -> None:
    assert arrives(precise(3838), decimal(2), AMOUNT, form) == Decimal("38.38")
    assert arrives(MILLIS, whole(TIME + "Timestamp"), TIMESTAMP, form) == MOMENT


def test_a_refusal_names_both_types_and_what_to_do() -> None:
    read = decode([message(MILLIS, whole(TIME + "Timestamp"))], log_of(T.TimestampType()))
    assert read.errors[0] == (
        "wrong_type",
        "`after.c`: the message's schema says int64 (io.debezium.time.Timestamp), and the column is declared "
        "timestamp[us, tz=UTC]",
    )
    read = decode([message(5, whole(TIME + "Time", "int32"))], log_of(LONG))
    assert "a number of millis, and the declaration makes it one of micros: see `millis`" in read.errors[0][1]
    assert arrives(5, whole(TIME + "Time", "int32"), LONG, Debezium(millis=("c",))) == 5


def test_a_type_that_changes_between_messages_is_followed() -> None:
    """ALTER … TYPE numeric(12,4): both forms of a schema in one batch, and messages without one beside them."""
    bare = debezium("c", {"id": 1, "c": precise(3838)})
    messages = [
        message(precise(3838), decimal(2)),
        message(precise(383_800), decimal(4)),
        bare,
        message(precise(383_801), decimal(4)),
        None,
        message(precise(3838), decimal(2)),
    ]
    read = decode(messages, log_of(AMOUNT), keys=[{"id": 1}] * len(messages))
    assert {row: change["after"] and change["after"]["c"] for row, change in read.rows.items()} == {
        0: Decimal("38.38"),
        1: Decimal("38.38"),
        2: Decimal("38.38"),
        4: None,
        5: Decimal("38.38"),
    }
    assert list(read.errors) == [3]


def test_however_many_schemas_there_are_each_message_has_its_own() -> None:
    scales = [*range(12), *range(12), 5]
    read = decode([message(precise(10**scale), decimal(scale)) for scale in scales], log_of(AMOUNT))
    assert [row["after"]["c"] for row in read.rows.values()] == [Decimal("1.00")] * len(scales)


@pytest.mark.parametrize("kind", [AMOUNT, TEXT, T.BinaryType(), TIMESTAMP, T.ArrayType(AMOUNT)], ids=str)
@pytest.mark.parametrize("described", [decimal(4), {"type": "string"}, {"type": "bytes"}], ids=str)
def test_a_value_that_was_not_sent_is_none(kind: T.DataType, described: Described) -> None:
    """Whatever the type: where it does not fit, nothing of it had to be read."""
    nested = isinstance(kind, T.ArrayType)
    placeholder = UNAVAILABLE if described["type"] == "string" else base64.b64encode(UNAVAILABLE.encode()).decode()
    listed = {"type": "array", "items": described} if nested else described
    read = decode([message([placeholder] if nested else placeholder, listed)], log_of(kind))
    assert read.only()["unavailable"] == ["c"]
    assert read.only()["after"]["c"] is None


KEYED = changelog({"at": TIMESTAMP, "amount": AMOUNT}, key=("at", "amount"))
KEY = {"at": whole(TIME + "Timestamp"), "amount": decimal(4)}
OLD, NEW = {"at": MILLIS, "amount": precise(383_800)}, {"at": MILLIS, "amount": precise(10_000)}
WANTED = {"at": MOMENT, "amount": Decimal("38.38")}


def test_a_key_is_read_by_its_own_schema() -> None:
    key = wrapped(OLD, {"type": "struct", "fields": fields(KEY)})
    coarse = {"at": whole(TIME + "MicroTimestamp"), "amount": decimal(2)}
    other = wrapped({"at": MILLIS * 1000, "amount": precise(3838)}, {"type": "struct", "fields": fields(coarse)})
    read = decode([None, None, None], KEYED, keys=[key, {"at": MILLIS * 1000, "amount": precise(3838)}, other])
    assert [row["key"] for row in read.rows.values()] == [WANTED] * 3


def test_a_bare_key_is_read_by_the_schema_of_its_message() -> None:
    read = decode([wrapped(debezium("d"), envelope(KEY))], KEYED, keys=[OLD])
    assert read.only()["key"] == WANTED


@pytest.mark.parametrize("bare", [True, False], ids=["bare", "beside its schema"])
def test_so_is_the_key_in_a_header(bare: bool) -> None:
    header = {"at": MILLIS, "amount": 38.38} if bare else wrapped(OLD, {"type": "struct", "fields": fields(KEY)})
    insert = wrapped(debezium("c", NEW), envelope(KEY))
    read = decode([insert], KEYED, keys=[NEW], headers=[{"__debezium.oldkey": header}])
    assert read.only()["other_key"] == WANTED


def test_two_descriptions_of_one_row_are_none() -> None:
    schema = envelope({"id": whole(), "c": decimal(2)})
    schema["fields"][0]["fields"] = fields({"id": whole(), "c": decimal(4)})
    row = {"id": 1, "c": precise(3838)}
    assert decode([wrapped(debezium("c", row), schema)], log_of(AMOUNT)).error() == "wrong_type"


@pytest.mark.parametrize("schema", [None, 5, {}, {"type": "struct"}, {"fields": 3}, {"fields": [{"field": "after"}]}])
def test_a_schema_that_says_nothing_leaves_it_to_the_declaration(schema: Any) -> None:
    row = {"id": 1, "c": precise(3838)}
    read = decode([{"schema": schema, "payload": debezium("c", row)}], log_of(AMOUNT))
    assert read.only()["after"]["c"] == Decimal("38.38")


# What values mean, told apart from our code: a number with its scale, or a count of its unit since an epoch.
SECONDS = {"Timestamp": 10**3, "MicroTimestamp": 10**6, "NanoTimestamp": 10**9}
INSTANTS = st.tuples(st.sampled_from(sorted(SECONDS)), st.integers(-(2**62), 2**62))
DECIMALS = st.tuples(st.integers(-3, 12), st.integers(-(10**20), 10**20) | st.integers(-(10**6), 10**6))
SCALES = st.tuples(st.integers(1, 38), st.integers(0, 10)).filter(lambda type_: type_[1] <= type_[0])


@settings(max_examples=120, deadline=None)
@given(st.lists(DECIMALS, min_size=1, max_size=6), SCALES)
def test_a_decimal_keeps_its_value_or_is_refused(numbers: list[tuple[int, int]], declared: tuple[int, int]) -> None:
    log = log_of(T.DecimalType(*declared))
    read = decode([message(precise(unscaled), decimal(scale)) for scale, unscaled in numbers], log)
    for row, (scale, unscaled) in enumerate(numbers):
        exponent = declared[1] - scale
        exact = exponent >= 0 or unscaled % 10**-exponent == 0
        own = unscaled * 10**exponent if exponent >= 0 else unscaled // 10**-exponent
        if exact and abs(own) < 10 ** declared[0]:
            assert read.rows[row]["after"]["c"] == Decimal(own).scaleb(-declared[1])
        else:
            assert read.errors[row][0] == "out_of_range"


@settings(max_examples=120, deadline=None)
@given(st.lists(INSTANTS, min_size=1, max_size=6), st.sampled_from(["millis", "micros", "nanos", "text"]))
def test_an_instant_keeps_its_value_or_is_refused(instants: list[tuple[str, int]], unit: Any) -> None:
    log = log_of(TIMESTAMP, Debezium(timestamps=unit))
    read = decode([message(count, whole(TIME + name)) for name, count in instants], log)
    for row, (name, count) in enumerate(instants):
        micros, rest = divmod(count * 10**6, SECONDS[name])
        try:
            wanted = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros)  # noqa: DTZ001
        except OverflowError:
            wanted = None
        if wanted is None or rest:
            assert read.errors[row][0] == "out_of_range"
        else:
            assert read.rows[row]["after"]["c"] == wanted


KINDS = [
    *(T.BooleanType(), T.IntegerType(), LONG, T.FloatType(), T.DoubleType(), AMOUNT, TEXT, T.BinaryType()),
    *(T.DateType(), TIMESTAMP, T.TimestampType()),
]
NAMES = ["", "Timestamp", "MicroTimestamp", "NanoTimestamp", "Time", "MicroTime", "NanoTime", "Date", "Year"]
OTHERS = [{"type": kind} for kind in ("boolean", "float", "double", "string", "bytes")]
DESCRIBED = st.one_of(
    st.builds(whole, st.sampled_from([name and TIME + name for name in NAMES]), st.sampled_from(["int32", "int64"])),
    st.sampled_from([*OTHERS, decimal(2), decimal(3)]),
)
VALUES = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.sampled_from([0.5, "AQI=", "AQI", "1.5", "x"])


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([log_of(kind) for kind in KINDS]), st.lists(st.tuples(DESCRIBED, VALUES), max_size=6))
def test_a_message_is_read_the_same_beside_messages_of_other_schemas(
    log: Changelog, pairs: list[tuple[Described, Any]]
) -> None:
    messages = [message(value, described) for described, value in pairs]
    together = decode(messages, log)
    for row, single in enumerate(messages):
        alone = decode([single], log)
        assert (alone.rows.get(0), alone.errors.get(0)) == (together.rows.get(row), together.errors.get(row))
