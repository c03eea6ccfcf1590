"""What makes no sense is refused at declaration, and so is what would show a sensitive column."""

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import types as T  # noqa: N812

from lakehouse.declarations import (
    Column,
    DeclarationError,
    Declarations,
    Drift,
    Expectation,
    Histogram,
    References,
    Rows,
    SameValues,
    SampleOf,
    Table,
)
from lakehouse.declarations.registry.derived_rules import check_expectations

COLUMNS = (
    Column("id", T.LongType(), required=True),
    Column("size", T.DoubleType(), required=False),
    Column("name", T.StringType(), required=False),
    Column("salary", T.DoubleType(), required=False, sensitive=True),
    Column("at", T.TimestampType(), required=False),
    Column("clock", T.TimestampNTZType(), required=False),
    Column("blob", T.BinaryType(), required=False),
)


def table(name: str, expects: Sequence[Expectation] = (), **more: Any) -> Table:
    given: dict[str, Any] = {"schema": COLUMNS, "key": ("id",), "description": "Things.", "owner": "tests", **more}
    return Table(name=name, expects=tuple(expects), **given)


def declared(*expects: Expectation, **more: Any) -> None:
    tables = {entry.name: entry for entry in (table("raw.things", expects, **more), table("raw.others"))}
    check_expectations(Declarations(tables, {}, {}))


def test_what_makes_sense_is_allowed() -> None:
    declared(
        Drift(column="size"),
        Drift(column="name"),
        SampleOf(column="size", table="raw.others", to="id"),
        Histogram(column="at", most_missing=0.0),
        SameValues(column="name", table="raw.others", to="size"),
        SameValues(column="salary", table="raw.others"),
    )


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        (Drift(column="salary"), "'salary' is sensitive, and statistics are values"),
        (Histogram(column="salary"), "'salary' is sensitive"),
        (SampleOf(column="salary", table="raw.others", to="size"), "'salary' is sensitive"),
        (SampleOf(column="size", table="raw.others", to="salary"), "'salary' is sensitive"),
        (Drift(column="blob"), "a binary has no such distribution"),
        (Histogram(column="name"), "a string has no such distribution"),
        (Histogram(column="nobody"), "has no column 'nobody'"),
        (Drift(column="size", tolerance=0), "a bound makes no sense"),
        (Drift(column="size", history=0), "a bound makes no sense"),
        (SampleOf(column="size", table="raw.others", largest=1.5), "a bound makes no sense"),
        (Histogram(column="size", most_missing=-0.1), "a bound makes no sense"),
        (SampleOf(column="size", table="raw.others", to="name"), "double and string cannot be compared"),
        (SampleOf(column="at", table="raw.others", to="clock"), "cannot be compared"),
        (SameValues(column="at", table="raw.others", to="clock"), "need a zone"),
        (SameValues(column="size", table="raw.others", key=("nobody",)), "no column 'nobody'"),
        (SameValues(column="size", table="raw.nowhere"), "raw.nowhere, which is not declared"),
    ],
)
def test_what_makes_no_sense_is_refused(expected: Expectation, message: str) -> None:
    with pytest.raises(DeclarationError, match=message) as refused:
        declared(expected)
    assert "raw.things" in str(refused.value)
    assert refused.value.remedy


def test_a_check_has_one_declaration() -> None:
    with pytest.raises(DeclarationError, match="declared twice"):
        declared(Drift(column="size"), Drift(column="size", tolerance=9))


def test_a_conversion_needs_a_key() -> None:
    with pytest.raises(DeclarationError, match="no key to match rows by"):
        declared(SameValues(column="size", table="raw.others"), key=())


def test_a_key_of_another_type_matches_nothing() -> None:
    others = table("raw.others", schema=(Column("id", T.StringType(), required=True), *COLUMNS[1:]))
    mine = table("raw.things", [SameValues(column="size", table="raw.others")])
    with pytest.raises(DeclarationError, match="another type there"):
        check_expectations(Declarations({"raw.things": mine, "raw.others": others}, {}, {}))


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("rows", r"a str is no expectation.*use one of References, Rows"),
        (Rows(severity="warn"), r"Rows: severity is 'warn'.*one of blocking, warning"),  # pyright: ignore[reportArgumentType]
        (Rows(least=-1), "least is -1, most is None"),
        (Rows(least=5, most=2), "least is 5, most is 2"),
        (Rows(least="x"), "least is 'x'"),  # pyright: ignore[reportArgumentType]
        (References(columns=(), table="raw.others"), "References of no columns"),
    ],
)
def test_values_that_mean_nothing_are_refused(expected: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=f"raw.things,? expects.*{message}"):
        declared(expected)


def test_a_forgotten_comma_is_named() -> None:
    with pytest.raises(DeclarationError, match=r"raw\.things, expects: a Rows in place of a tuple.*with a comma"):
        Table(name="raw.things", schema=COLUMNS, description="x", owner="x", expects=Rows(least=1))  # pyright: ignore
