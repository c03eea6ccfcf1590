"""Rules decide as pandera does, in the words of the declaration."""

import datetime as dt
import pickle
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd
import pandera.pandas as pandera
import pyarrow as pa
import pyspark.sql.types as spark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandera.api.checks import Check

from lakehouse.contracts.rules import Rules, UnknownRule, compile_rules
from lakehouse.declarations import Column


@dataclass(frozen=True)
class Declared:
    """The part of a table that rules read."""

    columns: tuple[Column, ...]
    name: str = "raw.things"


def rules(kind: spark.DataType, *checks: Check, **more: Any) -> Rules:
    return pickle.loads(pickle.dumps(compile_rules(Declared((Column("c", kind, False, checks=checks, **more),)))))


def broken(compiled: Rules, values: list[Any], kind: pa.DataType) -> set[int]:
    return set(compiled.judge(pa.record_batch({"c": pa.array(values, kind)})))


WORDS = st.sampled_from(["", "a", "ab", "abc", "b", "ba", "B", "é", "éa", "a b", "1", "12", "a1", "  "])
NUMBERS = st.integers(-5, 5)
TEXT_CHECKS = st.one_of(
    st.builds(Check.isin, st.lists(WORDS, min_size=1)),
    st.builds(Check.notin, st.lists(WORDS, min_size=1)),
    st.builds(Check.eq, WORDS),
    st.builds(Check.ne, WORDS),
    st.builds(Check.str_startswith, WORDS),
    st.builds(Check.str_endswith, WORDS),
    st.builds(
        Check.str_matches, st.sampled_from(["a", "a|b", "[ab]+$", "^é", "a.*1", r"\d", "", re.compile("B", re.I)])
    ),
    st.builds(Check.str_contains, st.sampled_from(["a", "a|b", "^b", "1$", r"\s", re.compile("b", re.I)])),
    st.builds(Check.str_length, st.integers(0, 2), st.integers(2, 3)),
    st.builds(lambda n: Check.str_length(min_value=n), st.integers(0, 3)),
    st.builds(lambda n: Check.str_length(exact_value=n), st.integers(0, 3)),
)
NUMBER_CHECKS = st.one_of(
    *[st.builds(make, NUMBERS) for make in (Check.eq, Check.ne, Check.ge, Check.gt, Check.le, Check.lt)],
    st.builds(Check.isin, st.lists(NUMBERS, min_size=1)),
    st.builds(Check.notin, st.lists(NUMBERS, min_size=1)),
    st.builds(
        lambda low, high, a, b: Check.in_range(low, low + high, include_min=a, include_max=b),
        NUMBERS,
        st.integers(1, 4),
        st.booleans(),
        st.booleans(),
    ),
)


def pandera_says(check: Check, values: list[Any], dtype: str) -> set[int]:
    """Rows that fail in pandera's own judgement of pandas data."""
    frame = pd.DataFrame({"c": pd.Series(values, dtype=dtype)})
    try:
        pandera.DataFrameSchema({"c": pandera.Column(checks=check, nullable=True)}).validate(frame, lazy=True)
    except pandera.errors.SchemaErrors as failed:
        return set(failed.failure_cases["index"])
    return set()


@settings(max_examples=300, deadline=None)
@given(TEXT_CHECKS, st.lists(WORDS | st.none(), max_size=8))
def test_rules_for_text_decide_as_pandera_does(check: Check, values: list[str | None]) -> None:
    assert broken(rules(spark.StringType(), check), values, pa.string()) == pandera_says(check, values, "object")


@settings(max_examples=200, deadline=None)
@given(NUMBER_CHECKS, st.lists(NUMBERS | st.none(), max_size=8))
def test_rules_for_numbers_decide_as_pandera_does(check: Check, values: list[int | None]) -> None:
    assert broken(rules(spark.IntegerType(), check), values, pa.int32()) == pandera_says(check, values, "Int32")
    assert broken(rules(spark.DoubleType(), check), values, pa.float64()) == pandera_says(check, values, "Float64")


@pytest.mark.parametrize(
    ("kind", "arrow", "check", "good", "bad"),
    [
        (spark.DecimalType(7, 2), pa.decimal128(7, 2), Check.ge(0.5), Decimal("0.50"), Decimal("0.49")),
        (spark.LongType(), pa.int64(), Check.le(2**62), 2**62, 2**62 + 1),
        (spark.LongType(), pa.int64(), Check.ge(1.0), 1, 0),
        (spark.DateType(), pa.date32(), Check.ge(dt.date(2013, 1, 1)), dt.date(2013, 1, 1), dt.date(2012, 12, 31)),
        (spark.BooleanType(), pa.bool_(), Check.eq(True), True, False),
        (spark.BinaryType(), pa.binary(), Check.ne(b"x"), b"y", b"x"),
        (
            spark.TimestampType(),
            pa.timestamp("us", "UTC"),
            Check.lt(dt.datetime(2013, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))),
            dt.datetime(2012, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC),
            dt.datetime(2013, 1, 1, tzinfo=dt.UTC),
        ),
    ],
)
def test_bounds_are_compared_exactly_in_every_type(
    kind: spark.DataType, arrow: pa.DataType, check: Check, good: Any, bad: Any
) -> None:
    assert broken(rules(kind, check), [good, bad, None], arrow) == {1}


@pytest.mark.parametrize(
    ("kind", "check", "complaint"),
    [
        (spark.IntegerType(), Check(lambda values: values > 0), "cannot be judged record by record"),
        (spark.IntegerType(), Check(lambda values: values > 0, name="isin"), "cannot be judged record by record"),
        (spark.StringType(), Check.unique_values_eq(["a"]), "cannot be judged record by record"),
        (spark.StringType(), Check.str_matches(r"(?=a)b"), "cannot be judged by RE2"),
        (spark.StringType(), Check.str_matches(re.compile("a b", re.VERBOSE)), "cannot be judged by RE2"),
        (spark.IntegerType(), Check.ge(1.5), "1.5, which is no value of type int32"),
        (spark.IntegerType(), Check.le(2**40), "no value of type int32"),
        (spark.IntegerType(), Check.eq(True), "True, which is no value of type int32"),
        (spark.IntegerType(), Check.isin([1, "2"]), "'2', which is no value"),
        (spark.DecimalType(5, 2), Check.ge(0.005), "no value of type decimal"),
        (spark.TimestampType(), Check.ge(dt.datetime(2013, 1, 1)), "no value of type timestamp"),  # noqa: DTZ001
        (spark.IntegerType(), Check.str_startswith("1"), "a rule for text on type int32"),
    ],
)
def test_a_rule_that_cannot_be_judged_exactly_is_refused_before_data_comes(
    kind: spark.DataType, check: Check, complaint: str
) -> None:
    with pytest.raises(UnknownRule, match=r"raw\.things\.c: ") as refused:
        rules(kind, check)
    assert complaint in str(refused.value)


def test_rules_that_mean_something_else_have_other_names() -> None:
    many = [f"value {n}" for n in range(100)]
    long = "x" * 300
    checks = [
        *(
            Check.in_range("a", "b", include_min=low, include_max=high)
            for low in (True, False)
            for high in (True, False)
        ),
        *(Check.isin(values) for values in (many, many[:-1])),
        *(Check.ge(bound, error="too early") for bound in ("a", "b")),
        Check.gt("a", error="too early"),
        *(Check.str_matches(re.compile(f"{long}{end}", flags)) for end in "ab" for flags in (0, re.IGNORECASE)),
    ]
    names = [rule.name for rule in rules(spark.StringType(), *checks).blocking]
    assert len(set(names)) == len(checks)
    assert names[:2] == ["in_range(a, b)", "in_range(a, b), include_max=False"]
    assert names[6] == "too early (greater_than_or_equal_to 'a')"
    assert max(map(len, names)) < 120


def test_the_message_names_column_rule_and_value_but_never_a_sensitive_value() -> None:
    for sensitive, message in [
        (False, "`c`: 'secret' breaks str_length(1, 2)"),
        (True, "`c`: the value breaks str_length(1, 2)"),
    ]:
        compiled = rules(spark.StringType(), Check.str_length(1, 2), sensitive=sensitive)
        error = compiled.judge(pa.record_batch({"c": ["ok", "secret"]}))[1]
        assert (error.error_class, error.message) == ("rule", message)


def test_a_long_value_is_cut() -> None:
    error = rules(spark.StringType(), Check.eq("x")).judge(pa.record_batch({"c": ["y" * 5000]}))[0]
    assert len(error.message) < 200


def test_of_several_broken_rules_the_first_declared_is_told() -> None:
    compiled = rules(spark.IntegerType(), Check.ge(10), Check.ne(5))
    assert (
        "greater_than_or_equal_to(10)" in compiled.judge(pa.record_batch({"c": pa.array([5], pa.int32())}))[0].message
    )


def test_warnings_are_counted_and_let_the_record_pass() -> None:
    batch = pa.record_batch({"c": pa.array([1, 5, None, 7], pa.int32())})
    for compiled in (
        rules(spark.IntegerType(), Check.lt(5), severity="warning", expected=True),
        rules(spark.IntegerType(), Check.lt(5, raise_warning=True), expected=True),
    ):
        assert compiled.judge(batch) == {}
        assert compiled.warnings(batch) == {"c: less_than(5)": 2, "c: expected, but null": 1}
        assert compiled.warnings(batch.slice(0, 1)) == {}
