"""A condition as Spark computes it: the same verdict as Arrow's for every value, whatever the two take for granted.

Where they differ, Arrow is right, since it judged the records before they were written: a number that is none is larger
than nothing, and a bound has the type of its column. Patterns are left to Arrow: Java's mean something else, take time
without end for some texts of a line, and overflow the stack at a few thousand characters, which ends the driver.
"""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyspark.sql.types as spark
from pyarrow import types as t
from pyspark.sql import Column as Expression
from pyspark.sql import functions as f

from lakehouse.contracts.rules.compile import UnknownRule
from lakehouse.contracts.rules.condition import Both, BoundCondition, Condition, Length, MemberCondition, Text
from lakehouse.declarations import Column
from lakehouse.engines.spark.naming import quoted_name

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers


def named(column: str) -> Expression:
    """A column by its name, whatever characters that has."""
    return f.col(quoted_name(column))


def holds(condition: Condition, column: Column, where: str) -> Expression:
    """True where a condition holds, false where it does not, null where there is no value.

    Args:
        condition: as compiled for Arrow.
        column: what it is asked of.
        where: table and column, for the error.

    Raises:
        UnknownRule: it has no exact counterpart in Spark.
    """
    value = named(column.name)
    match condition:
        case Both(left, right):
            return holds(left, column, where) & holds(right, column, where)
        case BoundCondition(operator, bound):
            return _compared(operator, value, literal(bound, column.type), column.type)
        case MemberCondition(values, wanted):
            is_member = _member(value, values, column.type)
            return is_member if wanted else ~is_member
        case Text():
            return _text(condition, value)
        case Length(shortest, longest):
            enough = f.length(value) >= (shortest or 0)
            return enough if longest is None else enough & (f.length(value) <= longest)
        case _:
            raise UnknownRule(f"{where}: Spark cannot judge {condition}.", remedy="remove the rule.")


def literal(value: pa.Scalar, kind: spark.DataType) -> Expression:
    """A value of a declaration, in the type of its column. Times go as texts: a session's zone says nothing of them."""
    plain: Any = value.as_py()
    if t.is_timestamp(value.type) or t.is_date(value.type):
        return f.lit(plain.isoformat()).cast(kind)
    if isinstance(plain, Decimal):
        return f.lit(format(plain, "f")).cast(kind)
    return f.lit(plain).cast(kind)


def _compared(operator: str, value: Expression, bound: Expression, kind: spark.DataType) -> Expression:
    match operator:
        case "equal":
            return value == bound
        case "not_equal":
            return value != bound
        case "less":
            return value < bound
        case "less_equal":
            return value <= bound
        case _:
            comparison = value > bound if operator == "greater" else value >= bound
            # Spark sorts a number that is none behind all others, so only here it would hold.
            return comparison & ~f.isnan(value) if isinstance(kind, spark.FloatType | spark.DoubleType) else comparison


def _member(value: Expression, values: pa.Array, kind: spark.DataType) -> Expression:
    if not len(values):
        return f.when(value.isNotNull(), f.lit(False))
    if isinstance(kind, spark.FloatType | spark.DoubleType):
        value = value + f.lit(0.0).cast(kind)  # zero has two signs, and a large set is looked up by bits
    return value.isin(*(literal(element, kind) for element in values))


def _text(condition: Text, value: Expression) -> Expression:
    if condition.function == "starts_with":
        return value.startswith(f.lit(condition.pattern))
    if condition.function == "ends_with":
        return value.endswith(f.lit(condition.pattern))
    pattern = condition.pattern

    def decide(values: pa.Array) -> pa.Array:
        return pc.match_substring_regex(values, pattern)  # plain values alone, so workers need Arrow and none of us

    in_batches: Any = f.arrow_udf  # its overloads ask for types of pyarrow's, which are unknown to type checkers
    return in_batches(decide, "boolean")(value)
