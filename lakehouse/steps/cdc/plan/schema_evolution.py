"""Columns that are added or widened are taken over, by mirror and changes alike; every other difference is a refusal.

A declaration can be ahead of the tables: the mirror's follow it before the step. A change can be older than the
declaration: what it said of a column that nobody had declared is in the changelog's `extra`, and is read from there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, types
from pyspark.sql import functions as f

from lakehouse.declarations import Changelog, Column, MirrorTables, WouldLoseData, apply, diff
from lakehouse.declarations.columns.schemas import iceberg_schema
from lakehouse.declarations.schema_changes.changes import AddColumn, RelaxColumn, WidenColumn
from lakehouse.declarations.schema_changes.evolution import compare
from lakehouse.iceberg.format_version import require_writable
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.steps.cdc.late_columns import BOOLEAN, FLOATING, INTEGER
from lakehouse.steps.cdc.refusals import ColumnsDiffer, Unparsed

# Of other types a message's JSON says only with its connector's settings what is meant: those are read by the decoder,
# and what it did not read cannot be read later.
_FROM_TEXT: Mapping[type[types.DataType], str] = {
    types.BooleanType: BOOLEAN,
    types.IntegerType: INTEGER,
    types.LongType: INTEGER,
    types.FloatType: FLOATING,
    types.DoubleType: FLOATING,
}


def evolve(tables: MirrorTables, catalog: LakeCatalog) -> list[str]:
    """Give the mirror's tables the columns and widths that are declared now; returns what was changed, in words.

    Raises:
        ColumnsDiffer: a table cannot become what is declared without losing something.
        UnwritableVersion: a table was upgraded to a format version that cannot be written.
    """
    changed: list[str] = []
    for table in tables.tables:
        stored = catalog.load_table(table.identifier)
        require_writable(stored)  # by its own name: no column differs
        try:
            planned = diff(table, stored)
            columns = [c for c in planned.changes if isinstance(c, AddColumn | WidenColumn | RelaxColumn)]
            if columns:
                apply(planned, catalog)
        except WouldLoseData as refused:
            remedies = "; ".join(dict.fromkeys(problem.remedy.rstrip(".") for problem in refused.problems))
            differences = [f"{table.name}: {problem.message}" for problem in refused.problems]
            raise ColumnsDiffer(tables.mirror.name, differences, remedies) from refused
        changed += [f"{table.name}: {change}" for change in columns]
    return changed


def declared_columns(log: Changelog) -> dict[str, str]:
    """Source column → its type in Spark's words, for the seal."""
    return {column.name: column.type.simpleString() for column in log.columns}


def declared_since(sealed: Mapping[str, str], log: Changelog) -> list[str]:
    """Columns that were declared after a seal was written."""
    return [name for name in declared_columns(log) if name not in sealed]


def undeclared_fields(changelog: IcebergTable, files: Iterable[DataFile]) -> bool:
    """Whether some change of these files may have a field that nobody had declared; by the counts of nulls."""
    extra = changelog.schema().find_field("extra").field_id
    for file in files:
        values, nulls = file.value_counts or {}, file.null_value_counts or {}
        if extra not in values and values:
            continue  # written before there was such a column
        if extra not in nulls or nulls[extra] < values.get(extra, file.record_count):
            return True
    return False


def conform(changes: DataFrame, log: Changelog, mirror: str, *, read_extra: bool) -> DataFrame:
    """The changes with key and images as declared: columns in order, widened, and taken from `extra` where they lack.

    Args:
        changes: as they are in the changelog.
        log: the changelog.
        mirror: for messages.
        read_extra: whether `extra` may tell of columns.

    Raises:
        ColumnsDiffer: a column of the changelog was dropped, renamed, narrowed or got another type.
    """
    declared = {
        "key": log.key_columns,
        "other_key": log.key_columns,
        "before": log.row_columns,
        "after": log.row_columns,
    }
    stored = {name: _struct(changes, name) for name in declared}
    differences = [problem for name in declared for problem in _problems(log.name, name, declared[name], stored[name])]
    if differences:
        raise ColumnsDiffer(mirror, list(dict.fromkeys(differences)))
    nothing = f.lit(None).cast("map<string,string>")
    shaped = changes.withColumn("_extra", _extra_values() if read_extra else nothing)
    for name, columns in declared.items():
        values = [_value(name, column, stored[name]).alias(column.name) for column in columns]
        shaped = shaped.withColumn(name, f.when(f.col(name).isNotNull(), f.struct(*values)))
    return shaped.drop("_extra")


def require_readable(changes: DataFrame, log: Changelog, mirror: str) -> None:
    """Refuse values of `extra` that cannot be read as the type that their column is declared with by now.

    Args:
        changes: as they are in the changelog, before `conform`.
        log: the changelog.
        mirror: for the message.

    Raises:
        Unparsed: names columns and counts.
    """
    stored = _struct(changes, "after")
    lost: list[Expression] = []
    for column in log.columns:
        text = f.col("_extra").getItem(column.source_name)
        missed = text.isNotNull() & _read(text, column.type).isNull()
        if column.name in stored.names:
            missed = missed & _field("after", column.name).isNull()
        lost.append(f.count_if(missed).alias(column.name))
    with_extra = changes.where(f.col("extra").isNotNull() & f.col("after").isNotNull()).withColumn(
        "_extra", _extra_values()
    )
    row = with_extra.agg(*lost).first()
    if unread := {name: count for name, count in (row.asDict() if row else {}).items() if count}:
        raise Unparsed(mirror, unread)


def _extra_values() -> Expression:
    # One map for all columns: a value's own text, whatever it is.
    return f.from_json(f.col("extra"), "map<string,string>")


def _value(image: str, column: Column, stored: types.StructType) -> Expression:
    if column.name not in stored.names:
        extra = _read(f.col("_extra").getItem(column.source_name), column.type)
        return extra if image == "after" else f.lit(None).cast(column.type)
    value = _shaped(_field(image, column.name), stored[column.name].dataType, column.type)
    if image != "after":
        return value
    # A column that the decoder knew is in `after` or nowhere; one that it did not know is null there, and in `extra`.
    return f.coalesce(value, _read(f.col("_extra").getItem(column.source_name), column.type))


def _read(text: Expression, kind: types.DataType) -> Expression:
    """What a JSON value's text says, or null where it cannot be read as that type."""
    if isinstance(kind, types.StringType):
        return text
    form = _FROM_TEXT.get(type(kind))
    return f.lit(None).cast(kind) if form is None else f.when(text.rlike(form), text.try_cast(kind))


def _shaped(value: Expression, has: types.DataType, wanted: types.DataType) -> Expression:
    """The value as a type that is at least as wide, with fields that came later as null."""
    if has.simpleString() == wanted.simpleString():
        return value
    match has, wanted:
        case types.StructType(), types.StructType():
            fields = [
                (
                    _shaped(value.getField(field.name), has[field.name].dataType, field.dataType)
                    if field.name in has.names
                    else f.lit(None).cast(field.dataType)
                ).alias(field.name)
                for field in wanted
            ]
            return f.when(value.isNotNull(), f.struct(*fields))
        case types.ArrayType(), types.ArrayType():
            return f.transform(value, lambda element: _shaped(element, has.elementType, wanted.elementType))
        case types.MapType(), types.MapType():
            return f.transform_values(value, lambda _, element: _shaped(element, has.valueType, wanted.valueType))
        case _:
            return value.cast(wanted)


def _problems(log: str, image: str, declared: Sequence[Column], struct: types.StructType) -> list[str]:
    stored = tuple(Column(field.name, field.dataType, required=False) for field in struct)
    wanted = tuple(replace(column, required=False) for column in declared)
    comparison = compare(iceberg_schema(_Columns(log, wanted)), iceberg_schema(_Columns(log, stored)))
    return [f"{log}, {image}: {problem.message}" for problem in comparison.problems]


def _struct(changes: DataFrame, name: str) -> types.StructType:
    struct = changes.schema[name].dataType
    assert isinstance(struct, types.StructType)
    return struct


def _field(struct: str, name: str) -> Expression:
    return f.col(struct).getField(name)


@dataclass(frozen=True)
class _Columns:
    """Some columns, as the translations want them."""

    name: str
    columns: tuple[Column, ...]
