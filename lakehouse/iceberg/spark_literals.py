"""Values as Iceberg stores them, in Spark's SQL: of every value that a column can hold, without a word to escape."""

from collections.abc import Mapping
from typing import Any

from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

_LITERALS: Mapping[type[IcebergType], str] = {
    BooleanType: "{0}",
    IntegerType: "{0}",
    LongType: "{0}L",
    DecimalType: "CAST('{0}' AS DECIMAL({kind.precision}, {kind.scale}))",
    StringType: "CAST({0} AS STRING)",
    DateType: "date_from_unix_date({0})",
    TimestamptzType: "timestamp_micros({0})",
    TimestampType: "CAST(timestamp_micros({0}) AS TIMESTAMP_NTZ)",  # our sessions are in UTC
}

# Whose order is the same in Spark, Iceberg and Python. A float's bounds do not tell of NaN.
ORDERED = (IntegerType, LongType, DecimalType, StringType, DateType, TimestampType, TimestamptzType)


def literal(value: Any, kind: IcebergType) -> str:
    """A constant expression that Spark folds, and pushes down to files.

    Args:
        value: not null; dates in days, timestamps in microseconds since 1970, decimals with the scale of their type.
        kind: its type in the table.

    Raises:
        ValueError: values of this type are not told to Spark (floats, times of day, bytes, nested ones).
    """
    if (written := _LITERALS.get(type(kind))) is None:
        raise ValueError(f"No literal of type {kind}.")
    # Text in hexadecimal: what ends a string, and what escapes, differs by a setting of Spark's.
    return written.format(f"X'{value.encode().hex()}'" if isinstance(value, str) else value, kind=kind)
