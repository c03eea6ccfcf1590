"""Partitions by name: as a person reads them, and without the value of a sensitive column."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pyiceberg.table import Table as IcebergTable
from pyiceberg.transforms import (
    DayTransform,
    HourTransform,
    MonthTransform,
    TimeTransform,
    VoidTransform,
    YearTransform,
)

from lakehouse.declarations import Table
from lakehouse.steps.maintenance.model.state import Partition

HIDDEN = "***"
WHOLE = "the whole table"
NEVER = datetime.max.replace(tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def partition_named(table: IcebergTable, declared: Table, spec_id: int, values: Sequence[object]) -> Partition:
    """Name a partition.

    Args:
        table: the table as it is.
        declared: says which columns are sensitive; one that it does not know counts as sensitive.
        spec_id: the spec that its files were written with.
        values: of the spec's fields, as manifests hold them.
    """
    key = f"{table.metadata.table_uuid}/{spec_id}/{[repr(value) for value in values]}"
    return Partition(
        key=hashlib.sha256(key.encode()).hexdigest()[:16],
        name=_name(table, declared, spec_id, values),
        spec_id=spec_id,
    )


def hidden_fields(table: IcebergTable, declared: Table) -> frozenset[str]:
    """Partition fields, of any spec, whose values are not shown."""
    return frozenset(
        field.name
        for spec in table.specs().values()
        for field in spec.fields
        if _hides(table, declared, field.source_id)
    )


def partition_end(table: IcebergTable, spec_id: int, values: Sequence[object]) -> datetime | None:
    """When the time that a partition stands for is over; `NEVER` after the year 9999, None where it stands for none."""
    for field, value in zip(table.specs()[spec_id].fields, values, strict=True):
        if isinstance(field.transform, TimeTransform) and isinstance(value, int):
            return _end(field.transform, value)
    return None


def _end(transform: object, value: int) -> datetime | None:
    try:
        return _beginning(transform, value + 1)
    except (OverflowError, ValueError):  # Iceberg's range is wider than Python's
        return NEVER if value > 0 else EPOCH


def _beginning(transform: object, value: int) -> datetime | None:
    match transform:
        case YearTransform():
            return datetime(EPOCH.year + value, 1, 1, tzinfo=UTC)
        case MonthTransform():
            return datetime(EPOCH.year + value // 12, value % 12 + 1, 1, tzinfo=UTC)
        case DayTransform():
            return EPOCH + timedelta(days=value)
        case HourTransform():
            return EPOCH + timedelta(hours=value)
        case _:
            return None


def _name(table: IcebergTable, declared: Table, spec_id: int, values: Sequence[object]) -> str:
    parts: list[str] = []
    for field, value in zip(table.specs()[spec_id].fields, values, strict=True):
        if isinstance(field.transform, VoidTransform):
            continue
        if _hides(table, declared, field.source_id):
            parts.append(f"{field.name}={HIDDEN}")
            continue
        try:
            text = field.transform.to_human_string(table.schema().find_type(field.source_id), value)
        except (OverflowError, ValueError):  # no date of Python's: the number that Iceberg has
            text = str(value)
        parts.append(f"{field.name}={text}")
    return ", ".join(parts) or WHOLE


def _hides(table: IcebergTable, declared: Table, source_id: int) -> bool:
    source = table.schema().find_column_name(source_id)
    shown = {column.name for column in declared.columns if not column.sensitive}
    return source is None or source.split(".")[0] not in shown
