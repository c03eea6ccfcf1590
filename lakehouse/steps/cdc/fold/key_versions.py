"""What a key held, and when: changes of the changelog and rows of the mirror, in one shape.

A row for each change that may say what a key held:
`_key`, `_position` of the change, `_gone` where it was a delete, `_unavailable` columns that it left out, `_other` key
that they may be found under, `_image` with the values, `_kept` where the mirror says so, `_new` where the change is of
this range, and `_topic`, `_partition` and `_offset` of its record.
"""

import pyspark.sql.types as spark
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse.declarations.changelog import POSITION
from lakehouse.declarations.mirror import BEHIND_COLUMN, POSITION_COLUMN
from lakehouse.engines.spark.naming import quoted_name
from lakehouse.steps.cdc.fold.expressions import NEVER, field, left_out, literal
from lakehouse.steps.cdc.fold.lookup import GONE, OF_A_ROW
from lakehouse.steps.cdc.fold.scope import FoldScope

_ENTRIES = spark.ArrayType(
    spark.StructType(
        [spark.StructField("key", spark.StringType(), nullable=False), spark.StructField("value", POSITION)]
    )
)


def changed_versions(changes: DataFrame, scope: FoldScope, *, new: bool) -> DataFrame:
    """Changes that may say what a key held."""
    operation = sql.col("operation")
    of_a_row = operation.isin(*OF_A_ROW) & sql.col("position").isNotNull()
    return changes.filter(of_a_row).select(
        sql.col("key").alias("_key"),
        sql.col("position").alias("_position"),
        operation.isin(*GONE).alias("_gone"),
        sql.coalesce("unavailable", sql.array().cast("array<string>")).alias("_unavailable"),
        sql.when(left_out(), sql.col("other_key")).alias("_other"),
        sql.struct(*(field("after", name).alias(name) for name in scope.tracked)).alias("_image"),
        sql.lit(False).alias("_kept"),
        sql.lit(new).alias("_new"),
        sql.col("_kafka_topic").alias("_topic"),
        sql.col("_kafka_partition").alias("_partition"),
        sql.col("_kafka_offset").alias("_offset"),
    )


def stored_versions(mirror_rows: DataFrame, scope: FoldScope) -> DataFrame:
    """What the mirror knows, as changes: of each row one at its own position, and one for each older value."""
    kinds = {column.name: column.type for column in scope.log.columns}
    behind = sql.coalesce(sql.map_entries(BEHIND_COLUMN.name), sql.array().cast(_ENTRIES))
    own = sql.struct(
        sql.col(POSITION_COLUMN.name).alias("position"),
        sql.transform(behind, lambda entry: entry["key"]).alias("unavailable"),
    )
    tracked = sql.array(*(sql.lit(name) for name in scope.tracked))
    older = sql.transform(
        sql.filter(behind, lambda entry: entry["value"] > literal(NEVER)),
        lambda entry: sql.struct(
            entry["value"].alias("position"), sql.array_except(tracked, sql.array(entry["key"])).alias("unavailable")
        ),
    )
    key = sql.struct(*(sql.col(quoted_name(name)).cast(kinds[name]).alias(name) for name in scope.keys))
    image = sql.struct(*(sql.col(quoted_name(name)).cast(kinds[name]).alias(name) for name in scope.tracked))
    versions = mirror_rows.select(
        key.alias("_key"), image.alias("_image"), sql.explode(sql.concat(sql.array(own), older)).alias("_said")
    )
    return versions.select(
        "_key",
        sql.col("_said.position").alias("_position"),
        sql.lit(False).alias("_gone"),
        sql.col("_said.unavailable").alias("_unavailable"),
        sql.lit(None).cast(fields_of(scope, scope.keys)).alias("_other"),
        "_image",
        sql.lit(True).alias("_kept"),
        sql.lit(False).alias("_new"),
        sql.lit("").alias("_topic"),
        sql.lit(-1).alias("_partition"),
        sql.lit(-1).cast("bigint").alias("_offset"),
    )


def fields_of(scope: FoldScope, names: tuple[str, ...]) -> spark.StructType:
    """The type of a struct of some declared columns."""
    kinds = {column.name: column.type for column in scope.log.columns}
    return spark.StructType([spark.StructField(name, kinds[name]) for name in names])
