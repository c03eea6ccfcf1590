"""What a frame is as rows of a table: Arrow data in types that Iceberg has, and the declaration that follows of it."""

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyspark.sql.types as spark
from pyiceberg.schema import Schema
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_type

from lakehouse.declarations import Column, Table
from lakehouse.declarations.columns.error import DoesNotFit
from lakehouse.declarations.columns.types import spark_type
from lakehouse.engines.spark.naming import quoted_name

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

OWNER = "team:frames"
_REMEDY = "return a column of another type: numbers, text, bytes, dates, timestamps, lists, structs or maps."


def rows_of(name: str, frame: "pa.Table | pd.DataFrame | pl.DataFrame | pl.LazyFrame | DataFrame") -> Any:
    """A frame as it is stored: a Spark frame as it is, any other as Arrow data in types that Iceberg has.

    Args:
        name: of the table, for the error.
        frame: what an asset has returned.

    Raises:
        DoesNotFit: it is no frame, or a column has a type that cannot be stored.
    """
    import pandas as pd
    import polars as pl

    match frame:
        case DataFrame():
            return frame
        case pa.Table():
            table = frame
        case pd.DataFrame():
            table = pa.Table.from_pandas(frame, preserve_index=False)
        case pl.LazyFrame():
            table = frame.collect().to_arrow(compat_level=pl.CompatLevel.oldest())
        case pl.DataFrame():
            table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        case _:
            raise DoesNotFit(
                f"Table {name}: the asset has returned a {type(frame).__name__}.",
                remedy="return an Arrow table, or a frame of polars, pandas or Spark.",
            )
    schema = pa.schema([pa.field(field.name, storable(field.type)) for field in table.schema])
    try:
        return table.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # Arrow's own words would repeat a value.
        lossy = ", ".join(field.name for field in table.schema if field.type != schema.field(field.name).type)
        raise DoesNotFit(f"Table {name}: values of {lossy} cannot be stored as they are.", remedy=_REMEDY) from None


def storable(kind: pa.DataType) -> pa.DataType:
    """The type in which values of a type are stored: Iceberg has no small or unsigned integers, nor nanoseconds."""
    types = pa.types
    stored = kind
    if types.is_dictionary(kind):
        stored = storable(kind.value_type)
    elif types.is_timestamp(kind):
        stored = pa.timestamp("us", tz="UTC" if kind.tz else None)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        stored = pa.list_(storable(kind.value_type))
    elif types.is_struct(kind):
        stored = pa.struct([pa.field(field.name, storable(field.type)) for field in kind])
    elif types.is_map(kind):
        stored = pa.map_(storable(kind.key_type), storable(kind.item_type))
    elif types.is_fixed_size_binary(kind):
        stored = pa.binary()
    return next((other for other, kinds in _STORED.items() if kind in kinds), stored)


_STORED = {
    pa.int32(): (pa.int8(), pa.int16(), pa.uint8(), pa.uint16()),
    pa.int64(): (pa.uint32(), pa.uint64()),
    pa.float32(): (pa.float16(),),
    pa.string(): (pa.large_string(), pa.string_view()),
    pa.binary(): (pa.large_binary(), pa.binary_view()),
    pa.date32(): (pa.date64(),),
}


def table_of(name: str, rows: pa.Table | DataFrame, stored: Schema | None = None, owner: str = OWNER) -> Table:
    """The declaration of the table that holds such rows: their columns, all of which may be null.

    Args:
        name: of the table.
        rows: in types that can be stored.
        stored: the columns that the table has, if there is one: none of them goes, or becomes narrower.
        owner: who answers for it.

    Raises:
        DoesNotFit: a column has a type that Spark does not know.
        DeclarationError: a type cannot be stored, the name is none of a table, or a column's name is reserved.
    """
    if isinstance(rows, DataFrame):
        columns = {field.name: field.dataType for field in rows.schema}
    else:
        columns = {field.name: _spark_type(name, field) for field in rows.schema}
    present = {field.name: spark_type(field.field_type) for field in stored.fields} if stored is not None else {}
    wanted = {
        column: present[column] if column in present and _widens(kind, present[column]) else kind
        for column, kind in {**present, **columns}.items()
    }
    return Table(
        name=name,
        schema=tuple(Column(column, kind, required=False, doc="") for column, kind in wanted.items()),
        description=f"What the asset {name} returned.",
        owner=owner,
        write_mode="overwrite",
    )


def completed(rows: pa.Table | DataFrame, table: Table) -> pa.Table | DataFrame:
    """A Spark frame with all columns of the table, in its types; Arrow data are made to fit where they are written."""
    if not isinstance(rows, DataFrame):
        return rows
    return rows.select(
        *(
            (sql.col(quoted_name(column.name)) if column.name in rows.columns else sql.lit(None))
            .cast(column.type)
            .alias(column.name)
            for column in table.columns
        )
    )


def _spark_type(name: str, field: pa.Field) -> spark.DataType:
    try:
        return from_arrow_type(field.type, prefer_timestamp_ntz=True)
    except PySparkException:
        raise DoesNotFit(f"Table {name}: column '{field.name}' is {field.type}.", remedy=_REMEDY) from None


def _widens(kind: spark.DataType, stored: spark.DataType) -> bool:
    """Whether every value of a type has a place in the wider one that is stored."""
    match kind, stored:
        case (spark.IntegerType(), spark.LongType()) | (spark.FloatType(), spark.DoubleType()):
            return True
        case spark.DecimalType(), spark.DecimalType():
            return kind.scale == stored.scale and kind.precision <= stored.precision
        case _:
            return False
