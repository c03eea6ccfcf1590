"""No value is changed on its way into a table, only represented differently."""

import decimal

import pyspark.sql.types as T  # noqa: N812
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.steps.derived.columns import lossless

WHOLE = {T.ByteType(): 8, T.ShortType(): 16, T.IntegerType(): 32, T.LongType(): 64}
decimals = st.integers(1, 38).flatmap(lambda p: st.builds(T.DecimalType, st.just(p), st.integers(0, p)))


def holds(kind: T.DataType, value: decimal.Decimal) -> bool:
    """Whether a type holds a number exactly; decided by Python's own arithmetic."""
    match kind:
        case T.DecimalType():
            _, digits, exponent = value.as_tuple()
            assert isinstance(exponent, int)
            scale = max(0, -exponent)
            return value == 0 or (scale <= kind.scale and len(digits) + exponent <= kind.precision - kind.scale)
        case T.DoubleType():
            return decimal.Decimal(float(value)) == value
        case _:
            bits = WHOLE[kind]
            return value == int(value) and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def extremes(kind: T.DataType) -> list[decimal.Decimal]:
    """The largest value of a type, and its smallest unit."""
    if isinstance(kind, T.DecimalType):
        return [decimal.Decimal((0, (9,) * kind.precision, -kind.scale)), decimal.Decimal((0, (1,), -kind.scale))]
    bits = WHOLE[kind]
    return [decimal.Decimal(2 ** (bits - 1) - 1), decimal.Decimal(-(2 ** (bits - 1)))]


@given(
    st.one_of(st.sampled_from(list(WHOLE)), decimals),
    st.one_of(st.sampled_from([*WHOLE, T.DoubleType()]), decimals),
)
def test_a_number_that_is_let_through_is_held_exactly(actual: T.DataType, wanted: T.DataType) -> None:
    if lossless(actual, wanted):
        assert all(holds(wanted, value) for value in extremes(actual))


@pytest.mark.parametrize(
    ("actual", "wanted", "expected"),
    [
        (T.IntegerType(), T.LongType(), True),
        (T.LongType(), T.IntegerType(), False),
        (T.IntegerType(), T.DoubleType(), True),
        (T.LongType(), T.DoubleType(), False),
        (T.DoubleType(), T.FloatType(), False),
        (T.FloatType(), T.DoubleType(), True),
        (T.LongType(), T.DecimalType(20, 1), True),
        (T.NullType(), T.StringType(), True),
        (T.StringType(), T.DateType(), False),
        (T.TimestampType(), T.TimestampNTZType(), False),
        (T.DateType(), T.TimestampType(), False),
        (T.ArrayType(T.IntegerType()), T.ArrayType(T.LongType()), True),
        (T.ArrayType(T.LongType()), T.ArrayType(T.IntegerType()), False),
        (T.StructType().add("a", T.ByteType()), T.StructType().add("a", T.LongType()), True),
        (T.StructType().add("a", T.ByteType()), T.StructType().add("b", T.ByteType()), False),
        (T.MapType(T.StringType(), T.ByteType()), T.MapType(T.StringType(), T.ShortType()), True),
        (T.LongType(), T.StringType(), False),
    ],
)
def test_which_types_are_let_through(actual: T.DataType, wanted: T.DataType, expected: bool) -> None:
    assert lossless(actual, wanted) is expected
