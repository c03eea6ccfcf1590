"""A column as everybody below reads it, taken from what pandera holds."""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast, runtime_checkable

import pyspark.sql.types as spark
from pandera.api.checks import Check
from pandera.pyspark import DataFrameModel, DataFrameSchema

from lakehouse.declarations.columns import dtypes as _dtypes  # registers the types that pandera lacks
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import check_column_name
from lakehouse.declarations.columns.record_parts import check_record_part

Severity = Literal["blocking", "warning"]
PanderaSchema = type[DataFrameModel] | DataFrameSchema  # pyright: ignore[reportMissingTypeArgument]

assert _dtypes.Struct


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: its name in the table and in the declaration; in messages as well, unless it has an alias.
        type: Spark's type, with nested fields, their nullability and documentation.
        required: a value must be there; neither `nullable=True` nor `int | None` in pandera.
        doc: what it means; pandera's `description`.
        sensitive: its values appear in no example, report, metadata or column bound; metadata `{"sensitive": True}`.
        severity: what a broken rule of this column means; metadata `{"severity": "warning"}`.
        checks: its rules.
        expected: a null is allowed, and counted as a warning; metadata `{"expected": True}`.
        alias: what messages call it, spaces and all; metadata `{"alias": "unit price"}`.
        record: the part of the Kafka record that it holds, in the place of a field of the value: `key`, `value`,
            `headers` or `header:<name>`; metadata `{"record": "key"}`.
        followed: the field of a record that the stream has added it for, by itself.
    """

    name: str
    type: spark.DataType
    required: bool
    doc: str = ""
    sensitive: bool = False
    severity: Severity = "blocking"
    checks: tuple[Check, ...] = ()
    expected: bool = False
    alias: str = ""
    record: str = ""
    followed: str = ""

    @property
    def source_name(self) -> str:
        """What messages call it."""
        return self.alias or self.name


@runtime_checkable
class HasColumns(Protocol):
    """What the translations need of a table."""

    @property
    def name(self) -> str:
        """The table's name, for errors."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns in order."""
        ...


COORDINATES = (
    Column("_kafka_topic", spark.StringType(), required=True, doc="Kafka topic that the record came from"),
    Column("_kafka_partition", spark.IntegerType(), required=True, doc="Partition of that topic"),
    Column("_kafka_offset", spark.LongType(), required=True, doc="Offset in that partition"),
    Column("_kafka_timestamp", spark.TimestampType(), required=True, doc="Kafka's timestamp of the record"),
)


def columns_of(table: str, schema: PanderaSchema) -> tuple[Column, ...]:
    """Read the columns of a pandera model or schema.

    Raises:
        DeclarationError: pandera refuses it, or it says something that a table cannot be.
    """
    if isinstance(schema, type):
        _refuse_hidden_fields(table, schema)
        schema = schema.to_schema()
    columns = tuple(_column(table, str(name), column_schema) for name, column_schema in schema.columns.items())
    if not columns:
        raise DeclarationError(f"{table}: no columns are declared.", remedy="declare at least one.")
    refuse_twins(table, [column.name for column in columns])
    _refuse_one_source(table, columns)
    for column in columns:
        check_column_name(table, column.name)
        _check_nested(table, column.name, column.type)
    return columns


def refuse_twins(subject: str, names: list[str]) -> None:
    """Refuse names that are equal, or differ only in case, which Spark does not see."""
    names_by_casefold: dict[str, str] = {}
    for name in names:
        twin = names_by_casefold.setdefault(name.casefold(), name)
        if twin is not name:
            raise DeclarationError(
                f"{subject}: the columns '{twin}' and '{name}' are the same for Spark, which ignores case.",
                remedy="rename one of them.",
            )


def aliases_of(columns: Iterable[Column]) -> dict[str, str]:
    """Column → what messages call it, of those for which that is not its name."""
    return {column.name: column.alias for column in columns if column.alias}


def _refuse_one_source(table: str, columns: Sequence[Column]) -> None:
    by_source: dict[str, str] = {}
    for column in columns:
        twin = by_source.setdefault(column.source_name, column.name)
        if twin != column.name:
            raise DeclarationError(
                f"{table}: '{twin}' and '{column.name}' are both called {column.source_name!r} by messages.",
                remedy="give each an alias of its own.",
            )


def _refuse_hidden_fields(table: str, model: type[DataFrameModel]) -> None:  # pyright: ignore[reportMissingTypeArgument]
    for parent in model.__mro__:
        if issubclass(parent, DataFrameModel) and not parent.__module__.startswith("pandera."):
            for name in inspect.get_annotations(parent):
                if name.startswith("_"):
                    # pandera passes over such fields in silence, so the column would be missing from the table.
                    check_column_name(table, name)


def _column(table: str, name: str, schema: Any) -> Column:
    if schema.dtype is None:
        raise DeclarationError(f"{table}.{name}: no type is declared.", remedy="declare one.")
    if schema.regex:
        raise DeclarationError(f"{table}.{name}: a pattern is no column.", remedy="declare each column by its name.")
    metadata = cast("dict[str, Any]", dict(schema.metadata or {}))
    severity = metadata.pop("severity", "blocking")
    if severity not in ("blocking", "warning"):
        raise DeclarationError(
            f"{table}.{name}: unknown severity '{severity}'.", remedy="write 'blocking' or 'warning'."
        )
    flags = {flag: metadata.pop(flag, False) for flag in ("sensitive", "expected")}
    for flag, value in flags.items():
        if not isinstance(value, bool):
            raise DeclarationError(f"{table}.{name}: {flag} should be True or False.", remedy="write one of them.")
    alias = metadata.pop("alias", "")
    if not isinstance(alias, str) or alias.encode(errors="ignore").decode() != alias:
        raise DeclarationError(
            f"{table}.{name}: {alias!r} cannot be an alias.",
            remedy="write the text that messages call the column.",
        )
    record = check_record_part(f"{table}.{name}", metadata.pop("record", ""), schema.dtype.type)
    if record and alias:
        raise DeclarationError(
            f"{table}.{name}: it holds the record's {record}, which has no other name.", remedy="leave the alias out."
        )
    if metadata:
        # A misspelt `sensitive` must not make values visible.
        raise DeclarationError(
            f"{table}.{name}: unknown metadata {', '.join(sorted(map(str, metadata)))}.",
            remedy="use sensitive, expected, severity, alias or record.",
        )
    return Column(
        name=name,
        type=schema.dtype.type,
        required=schema.required and not schema.nullable,
        doc=schema.description or "",
        severity=severity,
        checks=tuple(schema.checks),
        alias="" if alias == name else alias,
        record=record,
        **flags,
    )


def _check_nested(table: str, path: str, declared: spark.DataType) -> None:
    match declared:
        case spark.StructType():
            if not declared.fields:
                raise DeclarationError(f"{table}.{path}: a struct without fields.", remedy="declare its fields.")
            refuse_twins(f"{table}.{path}", declared.names)
            for inner in declared.fields:
                check_column_name(f"{table}.{path}", inner.name, nested=True)
                _check_nested(table, f"{path}.{inner.name}", inner.dataType)
        case spark.ArrayType():
            _check_nested(table, path, declared.elementType)
        case spark.MapType():
            _check_nested(table, path, declared.keyType)
            _check_nested(table, path, declared.valueType)
        case _:
            pass
