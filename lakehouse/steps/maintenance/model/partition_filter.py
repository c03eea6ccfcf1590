"""Names a partition to Spark: a condition that holds for all of its rows and for no others."""

from collections.abc import Callable, Mapping, Sequence
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
from pyiceberg.types import DateType, IcebergType, TimestampType, TimestamptzType
from pyiceberg.utils.datetime import days_to_date, micros_to_timestamp

from lakehouse.engines.spark.naming import quoted_name
from lakehouse.iceberg.spark_literals import literal
from lakehouse.steps.maintenance.model.preconditions import NotNameable

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
    try:
        # Spark could be told of any time. Of one that is no date of Python's nobody could be shown which it is.
        if (as_date := _DATES.get(type(result))) is not None:
            as_date(value)
        return literal(value, result)
    except OverflowError:
        raise NotNameable(f"a partition by {transform} of a time after the year 9999, or before 1,") from None
    except ValueError:
        raise NotNameable(f"a partition by {transform} of a column of type {kind}") from None


_DATES: Mapping[type[IcebergType], Callable[[int], object]] = {
    DateType: days_to_date,
    TimestampType: micros_to_timestamp,
    TimestamptzType: micros_to_timestamp,
}
