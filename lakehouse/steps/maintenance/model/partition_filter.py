"""Names a partition to Spark: a condition that holds for all of its rows and for no others."""

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from pyiceberg.partitioning import PartitionField
from pyiceberg.table import Table
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
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

from lakehouse.engines.spark.naming import quoted_name
from lakehouse.steps.maintenance.model.preconditions import NotNameable

_EPOCH = date(1970, 1, 1)
_TIMES = ((YearTransform, "years"), (MonthTransform, "months"), (DayTransform, "days"), (HourTransform, "hours"))


def where(table: Table, keys: Sequence[tuple[int, Sequence[object]]]) -> str:
    """A condition for partitions, each told by its spec and the values of its fields; empty for the whole table.

    Raises:
        ValueError: there are none, which is not the whole table.
        NotNameable: one of them has a value, or a transform, that Spark cannot be told.
    """
    if not keys:
        raise ValueError("No partition is named.")
    conditions = [_condition(table, spec_id, values) for spec_id, values in keys]
    return "" if not all(conditions) else " OR ".join(f"({condition})" for condition in conditions)


def _condition(table: Table, spec_id: int, values: Sequence[object]) -> str:
    fields = zip(table.specs()[spec_id].fields, values, strict=True)
    terms = [_equals(table, field, value) for field, value in fields if not isinstance(field.transform, VoidTransform)]
    return " AND ".join(terms)


def _equals(table: Table, field: PartitionField, value: object) -> str:
    name = table.schema().find_column_name(field.source_id)
    if name is None:
        raise NotNameable(f"a partition by {field.name}, whose column is gone,")
    column = quoted_name(*name.split("."))
    if value is None:  # every transform leaves a null a null
        return f"{column} IS NULL"
    kind = table.schema().find_type(field.source_id)
    return f"{_transformed(field.transform, column)} = {_literal(field.transform, kind, value)}"


def _transformed(transform: Transform[Any, Any], column: str) -> str:
    if isinstance(transform, IdentityTransform):
        return column
    if isinstance(transform, BucketTransform):
        return f"lake.system.bucket({transform.num_buckets}, {column})"
    if isinstance(transform, TruncateTransform):
        return f"lake.system.truncate({transform.width}, {column})"
    for kind, function in _TIMES:
        if isinstance(transform, kind):
            return f"lake.system.{function}({column})"
    raise NotNameable(f"a partition by {transform}")


def _literal(transform: Transform[Any, Any], kind: IcebergType, value: Any) -> str:
    result = transform.result_type(kind)
    if (written := _WRITTEN.get(type(result))) is None:
        raise NotNameable(f"a partition by {transform} of a column of type {kind}")
    try:
        return written(result, value)
    except OverflowError:
        raise NotNameable(f"a partition by {transform} of a time after the year 9999, or before 1,") from None


def _moment(micros: int) -> str:
    return (datetime(1970, 1, 1) + timedelta(microseconds=micros)).isoformat(" ", "microseconds")  # noqa: DTZ001


def quoted(text: str) -> str:
    """A literal of Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_WRITTEN: dict[type[IcebergType], Callable[[Any, Any], str]] = {
    BooleanType: lambda _, value: "true" if value else "false",
    IntegerType: lambda _, value: str(value),
    LongType: lambda _, value: f"{value}L",
    DecimalType: lambda kind, value: f"CAST('{value}' AS DECIMAL({kind.precision},{kind.scale}))",
    DateType: lambda _, value: f"DATE '{(_EPOCH + timedelta(days=value)).isoformat()}'",
    TimestampType: lambda _, value: f"TIMESTAMP_NTZ '{_moment(value)}'",
    TimestamptzType: lambda _, value: f"TIMESTAMP '{_moment(value)}+00:00'",
    StringType: lambda _, value: quoted(value),
}
