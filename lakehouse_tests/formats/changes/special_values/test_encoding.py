"""NaN, infinity and days out of the calendar become what the changelog declares, however the source writes them."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import ChangeFormat, Changelog, Debezium, Dms, Flat
from lakehouse_tests.formats.changes.decoding import changelog, debezium, decode, wrapped
from lakehouse_tests.formats.changes.dms.test_messages import PLACE, dms
from lakehouse_tests.formats.changes.test_recorded import ORDERS, coded
from lakehouse_tests.steps.cdc.messages import recorded

DATE, ZONED, LOCAL = T.DateType(), T.TimestampType(), T.TimestampNTZType()
DOUBLE, FLOAT, PRICE, TEXT = T.DoubleType(), T.FloatType(), T.DecimalType(5, 2), T.StringType()
FIRST, LAST = dt.datetime.min, dt.datetime.max  # noqa: DTZ901 - of a type without a zone as well
TEXTS = Debezium(decimals="string", timestamps="text")
MOST = 1.7976931348623157e308
# Debezium's infinity of a date and of a timestamp, as recorded.
DAY, DAY_BEFORE, MICROS, MICROS_BEFORE = -2147472692, -2147472691, 9223372036825200000, -9223372036832400000

SPECIALS: list[tuple[T.DataType, ChangeFormat, Any, Any]] = [
    (DATE, Debezium(), DAY, LAST.date()),
    (DATE, Debezium(), DAY_BEFORE, FIRST.date()),
    (DATE, Debezium(), -735435, FIRST.date()),
    (DATE, TEXTS, "-5877611-06-21Z", LAST.date()),
    (DATE, TEXTS, "-5877611-06-22Z", FIRST.date()),
    (DATE, TEXTS, "-0043-03-15Z", FIRST.date()),
    (DATE, Dms(), "0000-00-00", FIRST.date()),
    (DATE, Dms(), "0044-03-15 BC", FIRST.date()),
    (DATE, Flat(), "infinity", LAST.date()),
    (DATE, Flat(), "10000-01-01", LAST.date()),
    (LOCAL, Debezium(), MICROS, LAST),
    (LOCAL, Debezium(), MICROS_BEFORE, FIRST),
    (LOCAL, Debezium(timestamps="millis"), 253402300800000, LAST),
    (LOCAL, TEXTS, "+294247-01-10T04:00:25.2Z", LAST),
    (LOCAL, Flat(), "-infinity", FIRST),
    (ZONED, Debezium(), "infinity", LAST.replace(tzinfo=dt.UTC)),
    (ZONED, Debezium(), "-0043-03-15T12:00:00.000000Z", FIRST.replace(tzinfo=dt.UTC)),
    (ZONED, Debezium(), "+12024-01-01T00:00:00.000000Z", LAST.replace(tzinfo=dt.UTC)),
    (ZONED, Debezium(), "9999-12-31T23:59:59-01:00", LAST.replace(tzinfo=dt.UTC)),
    (ZONED, Dms(), "0000-00-00 00:00:00Z", FIRST.replace(tzinfo=dt.UTC)),
    (ZONED, Flat(), "0001-01-01T00:00:00+01:00", FIRST.replace(tzinfo=dt.UTC)),
    (DOUBLE, Debezium(), "Infinity", MOST),
    (DOUBLE, Debezium(), "NaN", None),
    (DOUBLE, Dms(), "-Infinity", -MOST),
    (DOUBLE, Flat(), "-Infinity", -MOST),
    (DOUBLE, Flat(), "NaN", None),
    (FLOAT, Debezium(), "-Infinity", -3.4028234663852886e38),
    (FLOAT, Flat(), "Infinity", 3.4028234663852886e38),
    (PRICE, Debezium(decimals="double"), "Infinity", Decimal("999.99")),
    (PRICE, Debezium(decimals="double"), "NaN", None),
    (PRICE, TEXTS, "-Infinity", Decimal("-999.99")),
    (PRICE, Dms(), "NaN", None),
    (PRICE, Flat(), "Infinity", Decimal("999.99")),
]
NOT_SPECIAL: list[tuple[T.DataType, ChangeFormat, Any]] = [
    (DATE, Dms(), "2026-02-30"),
    (DATE, Flat(), "10000-13-01"),
    (DATE, Flat(), "nan"),
    (DATE, Debezium(), 1.5),
    (ZONED, Flat(), "2026-01-01T00:00:00"),
    (ZONED, Flat(), "yesterday"),
    (DOUBLE, Flat(), "1.5"),
    (DOUBLE, Dms(), "1e400"),
    (FLOAT, Debezium(), 1e39),
    (PRICE, TEXTS, "1000.00"),
    (PRICE, TEXTS, "0.001"),
    (PRICE, Debezium(decimals="double"), 1e300),
]


def log_of(kind: T.DataType, form: ChangeFormat, *, key: tuple[str, ...] = ("id",), **more: Any) -> Changelog:
    return changelog({"id": T.LongType(), "value": kind}, key=key, format=form, **more)


def message(form: ChangeFormat, value: Any) -> dict[str, Any]:
    image = {"id": 1, "value": value}
    match form:
        case Debezium():
            return debezium("c", image)
        case Dms():
            return dms("insert", image, **PLACE)
        case Flat():
            return {**image, "__op": "c", "__source_lsn": 5}


def outcome(kind: T.DataType, form: ChangeFormat, value: Any, policy: str | None) -> Any:
    """The value that is stored, or the class of the error."""
    policies = {} if policy is None else {"special_values": {kind.typeName(): policy}}
    decoded = decode([message(form, 0), message(form, value)], log_of(kind, form, **policies))
    return decoded.errors[1][0] if 1 in decoded.errors else decoded.rows[1]["after"]["value"]


@pytest.mark.parametrize(("kind", "form", "value", "bound"), SPECIALS)
def test_every_form_of_a_special_value(kind: T.DataType, form: ChangeFormat, value: Any, bound: Any) -> None:
    assert outcome(kind, form, value, "null") is None
    assert outcome(kind, form, value, "clamp") == bound
    assert outcome(kind, form, value, "quarantine") in ("wrong_type", "out_of_range")
    if not (isinstance(form, Debezium) and kind in (DOUBLE, FLOAT)):
        assert outcome(kind, form, value, None) in ("wrong_type", "out_of_range")


@pytest.mark.parametrize(("kind", "form", "value"), NOT_SPECIAL)
def test_a_value_that_is_wrong_is_refused_whatever_is_declared(
    kind: T.DataType, form: ChangeFormat, value: Any
) -> None:
    for policy in ("null", "clamp"):
        assert outcome(kind, form, value, policy) in ("wrong_type", "out_of_range")


@pytest.mark.parametrize("policy", ["null", "clamp", "quarantine"])
def test_other_values_are_what_they_were(policy: str) -> None:
    assert outcome(DOUBLE, Flat(), -0.5, policy) == -0.5
    assert math.copysign(1, outcome(DOUBLE, Flat(), -0.0, policy)) == -1
    assert outcome(PRICE, TEXTS, "1.50", policy) == Decimal("1.50")
    assert outcome(ZONED, Flat(), "9999-12-31T23:59:59.999999Z", policy) == LAST.replace(tzinfo=dt.UTC)


def test_one_type_at_a_time() -> None:
    kinds = {"id": T.LongType(), "day": DATE, "seen": ZONED}
    log = changelog(kinds, format=Flat(), special_values={"date": "null"})
    images = [{"id": 1, "day": "infinity", "seen": None}, {"id": 1, "day": None, "seen": "infinity"}]
    decoded = decode([{**image, "__op": "c", "__source_lsn": 5} for image in images], log)
    assert (decoded.rows[0]["after"]["day"], decoded.errors[1][0]) == (None, "wrong_type")


def test_in_lists_and_structs() -> None:
    kind = T.StructType([T.StructField("days", T.ArrayType(DATE))])
    decoded = outcome_of_nested(kind, {"days": ["infinity", "2026-01-01", "-infinity"]})
    assert decoded == {"days": [LAST.date(), dt.date(2026, 1, 1), FIRST.date()]}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (T.StructType([T.StructField("day", DATE, nullable=False)]), {"day": "infinity"}),
        (T.ArrayType(DATE, containsNull=False), ["2026-01-01", "infinity"]),
        (T.MapType(T.StringType(), DATE, valueContainsNull=False), {"day": "infinity"}),
    ],
    ids=["struct", "list", "map"],
)
def test_no_null_where_a_part_is_required(kind: T.DataType, value: Any) -> None:
    """No file takes it: the message would stop its stream for good."""
    log = log_of(kind, Flat(), special_values={"date": "null"})
    ((error_class, complaint),) = decode([message(Flat(), value)], log).errors.values()
    assert error_class == "missing_field"
    assert "is required, and what was sent for it becomes null" in complaint
    assert outcome_of_nested(kind, value)


def outcome_of_nested(kind: T.DataType, value: Any) -> Any:
    log = log_of(kind, Flat(), special_values={"date": "clamp"})
    return decode([message(Flat(), value)], log).only()["after"]["value"]


def test_a_key_has_no_policy() -> None:
    """Two rows would become one."""
    log = changelog({"value": DATE, "other": DATE}, key=("value",), format=Flat(), special_values={"date": "clamp"})
    record = {"value": "infinity", "other": "infinity", "__op": "c", "__source_lsn": 5}
    assert decode([record], log, keys=[{"value": "infinity"}]).error() == "wrong_type"
    assert decode([{**record, "value": "2026-01-01"}], log).only()["after"]["other"] == LAST.date()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("infinity", "infinity"),
        ('a "quoted" \\ text', 'a "quoted" \\ text'),
        (MICROS, str(MICROS)),
        (1.5, "1.5"),
        (True, "true"),
        (None, None),
        ([1], "wrong_type"),
    ],
)
@pytest.mark.parametrize("form", [Debezium(), Dms(), Flat()], ids=["debezium", "dms", "flat"])
def test_as_text(form: ChangeFormat, value: Any, text: Any) -> None:
    assert outcome(TEXT, form, value, "text") == text


def test_what_was_not_sent_is_not_its_placeholder_as_text() -> None:
    log = log_of(TEXT, Debezium(), special_values={"string": "text"})
    row = decode([message(Debezium(), "__debezium_unavailable_value")], log).only()
    assert (row["unavailable"], row["after"]["value"]) == (["value"], None)


def test_as_text_beside_a_schema() -> None:
    """A decimal in Base64 is no text that anybody reads."""

    def text(kind: dict[str, Any], value: Any) -> Any:
        fields = [{"field": "id", "type": "int64"}, {"field": "value", **kind}]
        schema = {"type": "struct", "fields": [{"type": "struct", "field": "after", "fields": fields}]}
        log = log_of(TEXT, Debezium(), special_values={"string": "text"})
        decoded = decode([wrapped(debezium("c", {"id": 1, "value": value}), schema)], log)
        return decoded.errors[0][0] if decoded.errors else decoded.rows[0]["after"]["value"]

    assert text({"type": "int64", "name": "io.debezium.time.MicroTimestamp"}, MICROS) == str(MICROS)
    assert text({"type": "double"}, "NaN") == "NaN"
    assert text({"type": "string"}, "x") == "x"
    decimal = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    assert text(decimal, "AeJA") == "wrong_type"


@pytest.mark.parametrize(
    ("recording", "form"),
    [
        ("debezium_postgres", Debezium()),
        ("debezium_postgres_schema", Debezium()),
        ("debezium_postgres_strings", TEXTS),
    ],
)
def test_what_a_real_connector_sent(recording: str, form: Debezium) -> None:
    policies = {"date": "clamp", "timestamp": "clamp", "timestamp_ntz": "clamp", "double": "null", "decimal": "null"}
    log = changelog(ORDERS, key=("id",), source="shop.orders", format=form, special_values=policies)
    messages = [m for m in recorded(recording) if m.value is not None and m.topic.endswith("shop.orders")]
    decoded = decode([coded(m.value) for m in messages], log, keys=[coded(m.key) for m in messages])
    rows = {row["after"]["id"]: row["after"] for row in decoded.rows.values() if row["after"]}
    times = [tuple(rows[key][name] for name in ("ratio", "day", "at", "at_zone")) for key in (10, 11, 12)]
    first, last = (moment.replace(tzinfo=dt.UTC) for moment in (FIRST, LAST))
    assert times == [
        (None, LAST.date(), LAST, last),
        (None, FIRST.date(), FIRST, first),
        (0.0, FIRST.date(), FIRST, first),
    ]
    assert rows[14]["at_zone"] == last
