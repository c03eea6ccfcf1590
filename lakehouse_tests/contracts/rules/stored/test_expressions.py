"""Spark decides as Arrow does, on either platform, and as pandera's PySpark backend where that agrees with pandas."""

import datetime as dt
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as spark
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pandera.api.checks import Check
from pyspark.sql import SparkSession

from lakehouse.contracts.rules import UnknownRule
from lakehouse.contracts.rules.condition import Condition
from lakehouse.contracts.rules.stored.expressions import holds
from lakehouse.declarations import Column, arrow_schema
from lakehouse_tests.contracts.rules.test_batch_rules import Declared, rules

pytestmark = pytest.mark.spark

UTC = dt.UTC
NAN = float("nan")
FEW = settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # a job for each smaller example takes its time
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
WORDS = st.sampled_from(
    [
        "",
        "a",
        "ab",
        "B",
        "é",
        "éa",
        "e\u0301",
        "a b",
        "12",
        "a\n",
        "\n",
        "\r",
        "\x00",
        "\x0b",
        "😀",
        "😀a",
        "\u2028",
        "ſ",
        "K",
    ]
)
NUMBERS = st.integers(-3, 3)
FRACTIONS = st.sampled_from([-1.5, -0.0, 0.0, 0.1, 0.5, 1e300, NAN, float("inf"), float("-inf")])
CENTS = st.integers(-150, 150).map(lambda n: Decimal(n) / 100)
DAYS = st.sampled_from([dt.date(1, 1, 1), dt.date(1582, 10, 10), dt.date(1969, 12, 31), dt.date(2013, 5, 1)])
MOMENTS = st.sampled_from(
    [
        dt.datetime(1, 1, 1, tzinfo=UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        dt.datetime(2013, 3, 31, 1, 30, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        dt.datetime(2013, 10, 27, 0, 30, 0, 1, tzinfo=UTC),
    ]
)
KINDS: Mapping[str, tuple[spark.DataType, st.SearchStrategy[Any]]] = {
    "text": (spark.StringType(), WORDS),
    "int": (spark.IntegerType(), NUMBERS),
    "long": (spark.LongType(), st.sampled_from([-(2**63), 2**53, 2**53 + 1, 2**63 - 1])),
    "float": (spark.FloatType(), FRACTIONS.filter(lambda x: abs(x) < 1e39 or x != x or abs(x) == float("inf"))),
    "double": (spark.DoubleType(), FRACTIONS),
    "decimal": (spark.DecimalType(9, 2), CENTS),
    "wide": (spark.DecimalType(38, 18), CENTS),
    "date": (spark.DateType(), DAYS),
    "moment": (spark.TimestampType(), MOMENTS),
    "clock": (spark.TimestampNTZType(), MOMENTS.map(lambda moment: moment.replace(tzinfo=None))),
    "bool": (spark.BooleanType(), st.booleans()),
    "bytes": (spark.BinaryType(), st.sampled_from([b"", b"a", b"\x00", b"\xff", b"ab"])),
}
ORDERED = [Check.eq, Check.ne, Check.ge, Check.gt, Check.le, Check.lt]


def bound(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return values.filter(lambda value: value == value)


def in_range(ends: tuple[Any, Any], low: bool, high: bool) -> Check:
    return Check.in_range(
        min(ends), max(ends), include_min=low or ends[0] == ends[1], include_max=high or ends[0] == ends[1]
    )


def checks_of(name: str) -> st.SearchStrategy[Check]:
    values = bound(KINDS[name][1])
    strategies = [st.builds(make, values) for make in ORDERED]
    strategies += [st.builds(make, st.lists(values, min_size=1, max_size=14)) for make in (Check.isin, Check.notin)]
    strategies.append(st.builds(in_range, st.tuples(values, values), st.booleans(), st.booleans()))
    if name == "text":
        strategies += [st.builds(make, WORDS) for make in (Check.str_startswith, Check.str_endswith)]
        strategies += [
            st.builds(Check.str_length, st.integers(0, 2), st.integers(2, 3)),
            st.builds(lambda n: Check.str_length(exact_value=n), st.integers(0, 3)),
            st.builds(
                Check.str_matches, st.sampled_from(["a", "a|b", "^é$", ".", r"\s", "[^a]$", re.compile("K", re.I)])
            ),
            st.builds(Check.str_contains, st.sampled_from(["a$", r"^\w", r"\bB", "^$", re.compile("^a$", re.M)])),
        ]
    return st.one_of(strategies)


@st.composite
def judged(draw: st.DrawFn, each: int, *names: str) -> tuple[list[tuple[str, Check]], dict[str, list[Any]]]:
    """Values of every kind, nulls among them, and checks."""
    kinds = names or tuple(KINDS)
    rows = draw(st.integers(1, 8))
    values = {name: draw(st.lists(KINDS[name][1] | st.none(), min_size=rows, max_size=rows)) for name in kinds}
    return [(name, draw(checks_of(name))) for name in kinds for _ in range(each)], values


def table_of(values: Mapping[str, Sequence[Any]]) -> pa.Table:
    columns = tuple(Column(name, KINDS[name][0], required=False) for name in values)
    return pa.table(
        [pa.array(column_values, kind) for column_values, kind in zip(values.values(), small(columns), strict=True)],
        list(values),
    )


def small(columns: tuple[Column, ...]) -> list[pa.DataType]:
    smaller = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    return [smaller.get(each.type, each.type) for each in arrow_schema(Declared(columns))]


def condition_of(name: str, check: Check) -> Condition:
    (rule,) = rules(KINDS[name][0], check).blocking
    return rule.condition


@FEW
@given(case=judged(6))
def test_spark_decides_as_arrow_does(
    either_session: SparkSession, case: tuple[list[tuple[str, Check]], dict[str, list[Any]]]
) -> None:
    asked, values = case
    table = table_of(values)
    conditions = [condition_of(name, check) for name, check in asked]
    expected = [
        condition.holds(table[name].combine_chunks()).to_pylist()
        for (name, _), condition in zip(asked, conditions, strict=True)
    ]
    columns = [
        holds(condition, Column(name, KINDS[name][0], required=False), name).alias(str(n))
        for n, ((name, _), condition) in enumerate(zip(asked, conditions, strict=True))
    ]
    got = either_session.createDataFrame(table).select(columns).toArrow()
    for n, (name, check) in enumerate(asked):
        assert got[str(n)].to_pylist() == expected[n], (name, check, values[name])


def test_a_long_text_takes_neither_the_stack_nor_endless_time(sql_session: SparkSession) -> None:
    values = ["ab" * 5_000, "a" * 60 + "!"]
    asked = [condition_of("text", Check.str_matches(pattern)) for pattern in ("^(a|b)+$", "^([a-z]+)*$")]
    column = Column("text", KINDS["text"][0], required=False)
    rows = sql_session.createDataFrame(table_of({"text": values})).select(*(holds(rule, column, "") for rule in asked))
    assert [tuple(row) for row in rows.collect()] == [(True, True), (False, False)]


COMPARABLE = ("text", "int", "long", "decimal", "date", "moment", "bytes", "bool")


def same_in_pandera(name: str, check: Check) -> bool:
    """Whether pandera's PySpark backend judges this check, and means what its pandas backend means by it."""
    given = [each for value in check.statistics.values() for each in (value if isinstance(value, list) else [value])]
    if any(each.year < 1900 for each in given if isinstance(each, dt.date)):
        return False
    if check.name not in ("equal_to", "not_equal_to", "isin", "notin") and name in ("text", "bytes", "bool"):
        return str(check.name).startswith("str_") and str(check.name) not in ("str_matches", "str_contains")
    return not (name == "bool" and check.name in ("isin", "notin"))


@FEW
@given(case=judged(2, *COMPARABLE))
def test_a_rule_is_broken_where_panderas_own_backend_says_so(
    sql_session: SparkSession, case: tuple[list[tuple[str, Check]], dict[str, list[Any]]]
) -> None:
    asked, values = case
    asked = [(name, check) for name, check in asked if same_in_pandera(name, check)]
    table = table_of(values)
    expected = {
        str(n): condition_of(name, check).holds(table[name].combine_chunks()).false_count > 0
        for n, (name, check) in enumerate(asked)
    }
    wide = pa.table([table[name] for name, _ in asked], [f"c{n}" for n in range(len(asked))])
    schema = pandera.DataFrameSchema(
        {f"c{n}": pandera.Column(KINDS[name][0], check, nullable=True) for n, (name, check) in enumerate(asked)}
    )
    frame = schema.validate(sql_session.createDataFrame(wide))
    failed = {each["column"] for kind in frame.pandera.errors.values() for errors in kind.values() for each in errors}
    assert {f"c{n}" for n, broken in expected.items() if broken} == failed


def test_where_panderas_backends_contradict_each_other_ours_is_with_pandas(sql_session: SparkSession) -> None:
    asked = {
        "either at the start": ("text", Check.str_matches("a|b"), "xb"),
        "without regard to case": ("text", Check.str_contains(re.compile("B", re.IGNORECASE)), "b"),
        "the end and no line end": ("text", Check.str_matches("^a$"), "a\n"),
        "no number": ("double", Check.ge(0), NAN),
        "long ago": ("date", Check.eq(dt.date(1, 1, 1)), dt.date(1, 1, 1)),
    }
    by_pandera, by_ours = [], []
    for what, (name, check, value) in asked.items():
        frame = sql_session.createDataFrame(table_of({name: [value]}))
        schema = pandera.DataFrameSchema({name: pandera.Column(KINDS[name][0], check, nullable=True)})
        by_pandera += [what] if schema.validate(frame).pandera.errors else []
        column = Column(name, KINDS[name][0], required=False)
        (row,) = frame.select(holds(condition_of(name, check), column, name)).collect()
        by_ours += [] if row[0] else [what]
    assert by_ours == ["either at the start", "the end and no line end", "no number"]
    assert by_pandera == ["without regard to case", "long ago"]


@pytest.fixture
def sql_session(spark_on: Any, sql_lake: Any) -> Iterator[SparkSession]:
    """Classic, with pandera judging in full."""
    assert os.environ.get("PANDERA_VALIDATION_ENABLED", "True") == "True"
    with spark_on(sql_lake.settings) as session:
        yield session


@pytest.mark.parametrize(
    ("check", "complaint"),
    [(Check.ge(NAN), "nan, which is no value"), (Check.isin([1.0, NAN]), "nan, which is no value")],
)
def test_a_bound_that_is_no_number_is_refused(check: Check, complaint: str) -> None:
    with pytest.raises(UnknownRule, match=complaint):
        rules(spark.DoubleType(), check)
