"""Makes a computed frame exactly what its table holds, or says column by column why it is not."""

import re
from datetime import date

import pyspark.sql.types as T  # noqa: N812
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from lakehouse.declarations import Table, spark_schema
from lakehouse.declarations.columns.error import DoesNotFit
from lakehouse.engines.spark.naming import quoted_name

NULL_MARK = "lakehouse-null-in"
_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 19}
_EXACT_IN_DOUBLE = (T.ByteType, T.ShortType, T.IntegerType, T.FloatType, T.DoubleType)


def fitted_frame(table: Table, frame: DataFrame, runtime_date: date) -> DataFrame:
    """The frame with the table's columns, in its order and types, and the runtime date of the run.

    No value is changed, only represented differently: an int as a bigint, a decimal with more digits. A null in a
    required column stops the write.

    Raises:
        DoesNotFit: names every column that is missing, unknown, there twice, or of another type.
    """
    # Whatever dates came along with the inputs: a row is of the date of the run that computed it.
    dated = frame.drop(table.runtime_date_column or "").withColumn(
        table.runtime_date_column or "", f.lit(runtime_date).cast("date")
    )
    wanted, actual = spark_schema(table), dated.schema
    problems = [f"column '{name}' is unknown" for name in actual.names if name not in wanted.names]
    problems += [f"column '{name}' is there twice" for name in wanted.names if actual.names.count(name) > 1]
    columns: list[Column] = []
    for field in wanted.fields:
        if field.name not in actual.names:
            problems.append(f"column '{field.name}' is missing")
        elif not lossless(kind := actual[field.name].dataType, field.dataType):
            problems.append(f"column '{field.name}' is {kind.simpleString()}, not {field.dataType.simpleString()}")
        else:
            columns.append(_column(table.name, field, nullable=actual[field.name].nullable))
    if problems:
        raise DoesNotFit(
            f"What was computed does not fit table {table.name}: {'; '.join(problems)}.",
            remedy="correct the function, or the table's declaration and `lakehouse apply` it.",
        )
    return dated.select(*columns)


def _column(table: str, field: T.StructField, *, nullable: bool) -> Column:
    value = f.col(quoted_name(field.name))
    if nullable and not field.nullable:
        # Spark knows of nearly no computed column that it is never null, so this is found out while writing.
        value = f.when(value.isNotNull(), value).otherwise(f.raise_error(f"{NULL_MARK}:{table}:{field.name}:"))
    return value.cast(field.dataType).alias(field.name)


def null_error(table: Table, error: PySparkException) -> DoesNotFit | None:
    """What Spark's error means, if it is that a required column held a null; None for any other."""
    match = re.search(rf"{NULL_MARK}:{re.escape(table.name)}:(?P<column>\w+):", str(error))
    if match is None:
        return None
    return DoesNotFit(
        f"What was computed does not fit table {table.name}: column '{match['column']}' holds a null and is required.",
        remedy="correct the function, or declare the column nullable.",
    )


def lossless(actual: T.DataType, wanted: T.DataType) -> bool:
    """Whether every value of one type is a value of the other."""
    match actual, wanted:
        case T.NullType(), _:
            same = True
        case T.StructType(), T.StructType():
            pairs = zip(actual.fields, wanted.fields, strict=False)
            same = actual.names == wanted.names and all(
                lossless(actual_field.dataType, wanted_field.dataType) for actual_field, wanted_field in pairs
            )
        case T.ArrayType(), T.ArrayType():
            same = lossless(actual.elementType, wanted.elementType)
        case T.MapType(), T.MapType():
            same = lossless(actual.keyType, wanted.keyType) and lossless(actual.valueType, wanted.valueType)
        case T.DecimalType(), T.DecimalType():
            same = wanted.scale >= actual.scale and wanted.precision - wanted.scale >= actual.precision - actual.scale
        case _, T.DecimalType():
            same = 0 < _digits(actual) <= wanted.precision - wanted.scale
        case _, T.DoubleType():
            same = isinstance(actual, _EXACT_IN_DOUBLE)
        case _ if _digits(actual):
            same = _digits(actual) <= _digits(wanted)
        case _:
            same = type(actual) is type(wanted)
    return same


def _digits(kind: T.DataType) -> int:
    """So many decimal digits a whole number of this type may have; 0 if it is no whole number."""
    return _DIGITS.get(kind.typeName(), 0)
