"""Whatever bounds decide, the values between them agree."""

from typing import Any

import pyarrow as pa
import pyspark.sql.types as spark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandera.api.checks import Check

from lakehouse.contracts.rules.condition import Condition
from lakehouse.contracts.rules.stored.bounds import holds_between
from lakehouse_tests.contracts.rules.test_batch_rules import NUMBER_CHECKS, NUMBERS, TEXT_CHECKS, WORDS, rules

TEXT_COMPARISONS = [st.builds(make, WORDS) for make in (Check.ge, Check.gt, Check.le, Check.lt)]
TRUNCATED = 2


def condition_of(kind: spark.DataType, check: Check) -> Condition:
    (rule,) = rules(kind, check).blocking
    return rule.condition


def agrees(verdict: bool | None, condition: Condition, values: list[Any], kind: pa.DataType) -> None:
    verdicts = condition.holds(pa.array(values, kind)).to_pylist()
    assert verdict is None or verdicts == [verdict] * len(values)


@settings(max_examples=400, deadline=None)
@given(NUMBER_CHECKS, st.lists(NUMBERS, min_size=1, max_size=5))
def test_numbers(check: Check, values: list[int]) -> None:
    for kind, arrow in ((spark.IntegerType(), pa.int32()), (spark.DoubleType(), pa.float64())):
        condition = condition_of(kind, check)
        agrees(holds_between(condition, min(values), max(values)), condition, values, arrow)


@settings(max_examples=600, deadline=None)
@given(st.one_of(TEXT_CHECKS, *TEXT_COMPARISONS), st.lists(WORDS, min_size=1, max_size=3))
def test_texts_whose_bounds_are_cut(check: Check, values: list[str]) -> None:
    condition = condition_of(spark.StringType(), check)
    lower, upper = min(values)[:TRUNCATED], max(values)
    if len(upper) > TRUNCATED:
        upper = upper[: TRUNCATED - 1] + chr(ord(upper[TRUNCATED - 1]) + 1)
    agrees(holds_between(condition, lower, upper), condition, values, pa.string())


@pytest.mark.parametrize(
    ("check", "lower", "upper", "expected"),
    [
        (Check.ge(3), 3, 9, True),
        (Check.gt(3), 3, 9, None),
        (Check.lt(3), 3, 9, False),
        (Check.eq(4), 4, 4, True),
        (Check.ne(4), 5, 9, True),
        (Check.in_range(0, 10), 3, 9, True),
        (Check.in_range(0, 10), 11, 19, False),
        (Check.isin([1, 2, 3, 7]), 1, 3, True),
        (Check.isin([1, 3, 7]), 1, 3, None),
        (Check.isin([1, 2]), 3, 9, False),
        (Check.notin([1, 2]), 3, 9, True),
        (Check.notin([3]), 3, 3, False),
    ],
)
def test_what_is_decided_without_a_scan(check: Check, lower: int, upper: int, expected: bool | None) -> None:
    assert holds_between(condition_of(spark.IntegerType(), check), lower, upper) is expected
