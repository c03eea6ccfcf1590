"""Values survive the way from the source through each form of message into the column of their type."""

import base64
import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pyspark.sql.types as T  # noqa: N812
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.declarations import ChangeFormat, Debezium, Dms, Flat
from lakehouse_tests.formats.changes.decoding import changelog, debezium, decode

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001
COLUMNS: dict[str, T.DataType] = {
    "id": T.LongType(),
    "flag": T.BooleanType(),
    "small": T.IntegerType(),
    "double": T.DoubleType(),
    "text": T.StringType(),
    "amount": T.DecimalType(12, 2),
    "large": T.DecimalType(38, 10),
    "data": T.BinaryType(),
    "day": T.DateType(),
    "at": T.TimestampNTZType(),
    "zoned": T.TimestampType(),
    "amounts": T.ArrayType(T.DecimalType(5, 1)),
}
DAYS = st.dates()
MOMENTS = st.datetimes()


def unscaled(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    return st.integers(1 - 10**digits, 10**digits - 1).map(
        lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -scale))
    )


ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(-(2**63), 2**63 - 1),
        "flag": st.none() | st.booleans(),
        "small": st.none() | st.integers(-(2**31), 2**31 - 1),
        "double": st.none() | st.floats(allow_nan=False),
        "text": st.none() | st.text(st.characters(codec="utf-8")),
        "amount": st.none() | unscaled(12, 2),
        "large": st.none() | unscaled(38, 10),
        "data": st.none() | st.binary(),
        "day": st.none() | DAYS,
        "at": st.none() | MOMENTS,
        "zoned": st.none() | st.datetimes(timezones=st.just(dt.UTC)),
        "amounts": st.none() | st.lists(st.none() | unscaled(5, 1)),
    }
)


def as_precise(number: Decimal) -> str:
    sign, digits, _ = number.as_tuple()
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    return base64.b64encode(whole.to_bytes(whole.bit_length() // 8 + 1, "big", signed=True)).decode()


def micros(moment: dt.datetime) -> int:
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


def as_debezium(value: Any, options: Debezium) -> Any:
    """As the connector writes it."""
    match value:
        case Decimal():
            return as_precise(value) if options.decimals == "precise" else str(value)
        case dt.datetime(tzinfo=None):
            text = value.isoformat() + "Z"
            units = {"text": text, "micros": micros(value), "nanos": micros(value) * 1000}
            return units[options.timestamps]
        case dt.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case dt.date():
            return value.isoformat() + "Z" if options.timestamps == "text" else (value - EPOCH.date()).days
        case bytes():
            return base64.b64encode(value).decode()
        case list():
            return [as_debezium(element, options) for element in value]
        case float() if not math.isfinite(value):
            return {math.inf: "Infinity", -math.inf: "-Infinity"}[value]
        case _:
            return value


def as_dms(value: Any) -> Any:
    match value:
        case Decimal():
            return str(value)
        case dt.datetime(tzinfo=None):
            return value.isoformat(" ")
        case bytes():
            return "0x" + value.hex().upper()
        case bool():
            return "t" if value else "f"
        case int():
            return str(value)
        case list():
            return [as_dms(element) for element in value]
        case _:
            return as_debezium(value, Debezium(timestamps="text")) if type(value) is not dt.date else value.isoformat()


def as_flat(value: Any) -> Any:
    match value:
        case Decimal():
            return str(value)
        case dt.datetime(tzinfo=None):
            return value.isoformat()
        case list():
            return [as_flat(element) for element in value]
        case _:
            return as_dms(value) if type(value) is dt.date else as_debezium(value, Debezium())


def message(row: dict[str, Any], form: ChangeFormat) -> dict[str, Any]:
    if isinstance(form, Debezium):
        return debezium("c", {name: as_debezium(value, form) for name, value in row.items()})
    if isinstance(form, Flat):
        return {**{name: as_flat(value) for name, value in row.items()}, "__op": "c", "__source_lsn": 1}
    metadata = {"record-type": "data", "operation": "insert", "stream-position": 1}
    return {"data": {name: as_dms(value) for name, value in row.items()}, "metadata": metadata}


@pytest.mark.parametrize(
    "form",
    [
        Debezium(),
        Debezium(timestamps="nanos"),
        Debezium(decimals="string", timestamps="text"),
        Dms(),
        Flat(),
    ],
    ids=str,
)
def test_values_arrive_as_they_were(form: ChangeFormat) -> None:
    log = changelog(COLUMNS, format=form)

    @settings(max_examples=25, deadline=None)
    @given(st.lists(ROWS, min_size=1, max_size=3))
    def arrive(rows: list[dict[str, Any]]) -> None:
        usable = [sendable(form, row) for row in rows]
        decoded = decode([message(row, form) for row in usable], log)
        assert decoded.errors == {}
        assert [decoded.rows[i]["after"] for i in range(len(rows))] == usable

    arrive()


def sendable(form: ChangeFormat, row: dict[str, Any]) -> dict[str, Any]:
    """The row as far as the form can tell it: only Debezium has infinity, and 64 bits of nanoseconds end in 2262."""
    nanos = isinstance(form, Debezium) and form.timestamps == "nanos"
    moment = row["at"].replace(year=2000, day=1) if row["at"] and nanos else row["at"]
    return {
        **row,
        "at": moment,
        "double": row["double"] if isinstance(form, Debezium) or finite(row["double"]) else 1.0,
    }


def finite(value: float | None) -> bool:
    return value is None or math.isfinite(value)


def decoded_value(kind: T.DataType, text: str, form: ChangeFormat | None = None) -> Any:
    """The column that the JSON of a value becomes, or the class of the error."""
    log = changelog({"id": T.LongType(), "c": kind}, format=form or Debezium())
    raw = json.dumps(debezium("c", {"id": 1, "c": 0})).replace('"c": 0', f'"c": {text}').encode()
    decoded = decode([raw], log)
    return decoded.errors[0][0] if decoded.errors else decoded.rows[0]["after"]["c"]


VARIABLE = T.DecimalType(38, 3)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"AJY="', Decimal("0.150")),
        ('"AA=="', Decimal(0)),
        ('"/w=="', Decimal("-0.001")),
        ('"\\/w=="', Decimal("-0.001")),
        ('{"scale":1,"value":"AJY="}', Decimal(15)),
        ('{"scale":3,"value":"AJY="}', Decimal("0.150")),
        ('{"scale":-2,"value":"AQ=="}', Decimal(100)),
        ('{"scale":5,"value":"AJY="}', "out_of_range"),
        ('{"scale":99999999,"value":"AJY="}', "out_of_range"),
        ('{"scale":4,"value":"AJY="}', Decimal("0.015")),
        ('{"value":"AJY="}', "wrong_type"),
        ("1234", "wrong_type"),
        ('"12345"', "wrong_type"),
        ('"1.50"', "wrong_type"),
        ('""', "wrong_type"),
        ("[]", "wrong_type"),
        ("null", None),
        (f'"{base64.b64encode((10**38).to_bytes(17, "big")).decode()}"', "out_of_range"),
        (f'"{base64.b64encode((10**38 - 1).to_bytes(17, "big")).decode()}"', Decimal("9" * 35 + ".999")),
        (f'"{base64.b64encode((2**200).to_bytes(26, "big")).decode()}"', "out_of_range"),
    ],
)
def test_precise_decimals_of_every_kind(text: str, value: Any) -> None:
    assert decoded_value(VARIABLE, text) == value


@pytest.mark.parametrize(
    ("kind", "text", "form", "value"),
    [
        (T.DecimalType(5, 2), "1.5", Debezium(decimals="double"), Decimal("1.50")),
        (T.DecimalType(5, 2), "1e2", Debezium(decimals="double"), Decimal("100.00")),
        (T.DecimalType(5, 2), '"1.5"', Debezium(decimals="double"), "wrong_type"),
        (T.DecimalType(5, 2), "1.5", Debezium(decimals="string"), "wrong_type"),
        (T.DecimalType(5, 2), '"1.555"', Debezium(decimals="string"), "out_of_range"),
        (T.DateType(), "2932897", Debezium(), "out_of_range"),
        (T.DateType(), "-719163", Debezium(), "out_of_range"),
        (T.DateType(), '"2026-01-01"', Debezium(), "wrong_type"),
        (T.TimestampNTZType(), "9223372036854775807", Debezium(), "out_of_range"),
        (T.TimestampNTZType(), "1700000000001", Debezium(timestamps="millis"), dt.datetime(2023, 11, 14, 22, 13, 20, 1000)),  # noqa: DTZ001, E501
        (T.TimestampNTZType(), "-1", Debezium(timestamps="nanos"), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001
        (T.TimestampType(), "1", Debezium(), "wrong_type"),
        (T.TimestampType(), '"2026-01-01T00:00:00"', Debezium(), "wrong_type"),
        (T.BinaryType(), '"AA"', Debezium(), "wrong_type"),
        (T.DoubleType(), '"NaN"', Debezium(), math.nan),
        (T.DoubleType(), '"-Infinity"', Debezium(), -math.inf),
        (T.DoubleType(), '"x"', Debezium(), "wrong_type"),
        (T.FloatType(), '"Infinity"', Debezium(), math.inf),
        (T.FloatType(), "0.1", Debezium(), 0.10000000149011612),
        (T.StringType(), "1", Debezium(), "wrong_type"),
        (T.BooleanType(), "1", Debezium(), "wrong_type"),
    ],
)  # fmt: skip
def test_values_by_the_options_of_the_connector(kind: T.DataType, text: str, form: ChangeFormat, value: Any) -> None:
    assert repr(decoded_value(kind, text, form)) == repr(value)
