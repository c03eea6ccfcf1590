"""What else a mirror's step asks: an initial copy as changes, and which tombstones may go."""

import pyspark.sql.types as spark
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse.declarations import Changelog
from lakehouse.declarations.columns.schemas import spark_schema
from lakehouse.declarations.mirror import POSITION_COLUMN, TIME_COLUMN
from lakehouse.steps.cdc.fold.expressions import literal
from lakehouse.steps.cdc.fold.scope import SealedFold
from lakehouse.steps.cdc.position import ChangePosition

COPIED = -1
"""Stands for the Kafka partition of a copied row."""
_BEGINNING = ChangePosition(0, 0, 0)


def as_reads(initial_rows: DataFrame, log: Changelog) -> DataFrame:
    """Rows of an initial copy as snapshot reads, older than every logged change and than none that is known.

    Args:
        initial_rows: a table with the source's columns; those that it lacks are null.
        log: the changelog, whose shape the reads take.

    Raises:
        ValueError: it has no key, or a column of another type.
    """
    available = set(initial_rows.columns)
    missing = [name for name in log.key if name not in available]
    if missing:
        raise ValueError(f"the initial copy has no key column {', '.join(missing)}")
    # A cast that fails would show the value, and a sensitive one as well.
    kinds = {field.name: field.dataType for field in initial_rows.schema.fields}
    for column in log.columns:
        if column.name in available and not _is_lossless(column.type, kinds[column.name]):
            raise ValueError(
                f"column {column.name} is {kinds[column.name].simpleString()}, declared as {column.type.simpleString()}"
            )
    values: dict[str, Expression] = {
        "operation": sql.lit("read"),
        "key": sql.struct(*(sql.col(c.name).cast(c.type).alias(c.name) for c in log.key_columns)),
        "after": sql.struct(
            *(
                (sql.col(c.name) if c.name in available else sql.lit(None)).cast(c.type).alias(c.name)
                for c in log.columns
            )
        ),
        "position": literal(_BEGINNING),
        "_kafka_topic": sql.lit(""),
        "_kafka_partition": sql.lit(COPIED),
        "_kafka_offset": sql.lit(0),
    }
    schema = spark_schema(log.table)
    return initial_rows.select(
        *(values.get(f.name, sql.lit(None)).cast(_plain(f.dataType)).alias(f.name) for f in schema.fields)
    )


def _is_lossless(declared: spark.DataType, stored: spark.DataType) -> bool:
    """Whether the declared type has every value of the stored one."""
    match stored, declared:
        case (spark.IntegerType(), spark.LongType()) | (spark.FloatType(), spark.DoubleType()):
            return True
        case spark.DecimalType(), spark.DecimalType():
            return stored.scale == declared.scale and stored.precision <= declared.precision
        case _:
            return stored.simpleString() == declared.simpleString()


def _plain(kind: spark.DataType) -> spark.DataType:
    """Without comments, which a cast takes for another type."""
    return (
        spark.StructType([spark.StructField(f.name, f.dataType) for f in kind.fields])
        if isinstance(kind, spark.StructType)
        else kind
    )


def collectable(memory: SealedFold) -> Expression:
    """Which tombstones may go: any older change would be too late by now, or a truncate says the same."""
    old = sql.unix_micros(TIME_COLUMN.name) < memory.low_watermark_us
    if memory.truncated is not None:
        old |= sql.col(POSITION_COLUMN.name) < literal(memory.truncated)
    return sql.coalesce(old, sql.lit(False))
