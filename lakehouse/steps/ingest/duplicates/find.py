"""Finds the records of a run whose key is in their table already, or came earlier in the same run.

Of each key all rows are laid side by side: those of the table first, then the run's in the order of arrival (Kafka's
timestamp, partition, offset). They are judged from the first on: a row of the run is a duplicate if a row that stays
has a time no further than `within` from its own. So what is dropped does not depend on how a topic is cut into runs, as
long as its records are read in that order.
"""

from collections.abc import Mapping
from datetime import timedelta

import pyspark.sql.types as spark
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from lakehouse.declarations.policies.dropping import DropDuplicates
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION

TIMESTAMP = "_kafka_timestamp"
PLACE = "struct<partition: int, offset: bigint>"
_SIDE_BY_SIDE = (
    "sort_array(collect_list(struct(_new, _arrived, _partition, _offset, _time)))"  # a struct compares field by field
)


def duplicates(
    new: DataFrame, known: DataFrame | None, policy: DropDuplicates, key: tuple[str, ...], types: Mapping[str, str]
) -> DataFrame:
    """The places of the records to drop, as columns `partition` and `offset`.

    Args:
        new: rows of the run, with coordinates.
        known: rows of the table before it; None where there are none.
        policy: of the table.
        key: columns that identify a record.
        types: column → Spark's name of its type.
    """
    needed = [*key, *((policy.time,) if policy.time else ())]
    arrived = new.dropna(subset=needed).select(*_columns(policy, key, types, new=True))
    rows = arrived
    if known is not None:
        stored = (
            _looked_back(known, arrived, policy).dropna(subset=needed).select(*_columns(policy, key, types, new=False))
        )
        rows = arrived.unionByName(stored.join(arrived.select("_key").distinct(), "_key", "left_semi"))
    by_key = rows.groupBy("_key").agg(sql.expr(_SIDE_BY_SIDE).alias("_rows")).where("size(_rows) > 1")
    return by_key.select(sql.explode(sql.expr(_judged(policy.within))).alias("_place")).select(
        sql.col("_place.partition").alias("partition"), sql.col("_place.offset").alias("offset")
    )


def _looked_back(known: DataFrame, arrived: DataFrame, policy: DropDuplicates) -> DataFrame:
    """Rows of the table that are near enough in time to a record of the run."""
    if policy.time is None or policy.within is None:
        return known
    first, last = arrived.agg(sql.min("_time"), sql.max("_time")).head() or (None, None)
    if first is None or last is None:
        return known.limit(0)
    micros = _micros(policy.within)
    return known.where(_time(policy.time).between(sql.lit(first - micros), sql.lit(last + micros)))


def _columns(policy: DropDuplicates, key: tuple[str, ...], types: Mapping[str, str], *, new: bool) -> list[Column]:
    arrival = (sql.unix_micros(TIMESTAMP), sql.col(PARTITION), sql.col(OFFSET))
    unknown = (sql.lit(0), sql.lit(0), sql.lit(0))  # the order of rows that are there already means nothing
    arrived, partition, offset = arrival if new else unknown
    return [
        sql.to_json(sql.array(*(_text(name, types[name]) for name in key))).alias("_key"),
        sql.lit(int(new)).alias("_new"),
        arrived.cast("bigint").alias("_arrived"),
        partition.cast("int").alias("_partition"),
        offset.cast("bigint").alias("_offset"),
        (_time(policy.time) if policy.time else sql.lit(0).cast("bigint")).alias("_time"),
    ]


def _text(name: str, kind: str) -> Column:
    """A value as a text that no other value has; of times not by the clock, which shows an hour twice."""
    column = sql.col(f"`{name}`")
    match kind:
        case "timestamp":
            return sql.unix_micros(column).cast("string")
        case "binary":
            return sql.hex(column)
        case _:
            return column.cast("string")


def _time(name: str) -> Column:
    """Microseconds since the epoch; of a time without zone, as if it were of the session's."""
    return sql.expr(f"unix_micros(cast(`{name}` as timestamp))")


def _judged(within: timedelta | None) -> str:
    """SQL of the places of duplicates among `_rows`."""
    if within is None:
        return (
            "transform(filter(_rows, (r, i) -> i > 0 and r._new = 1), "
            f"r -> cast(struct(r._partition, r._offset) as {PLACE}))"
        )
    near = f"exists(seen.kept, t -> abs(t - r._time) <= {_micros(within)}L)"
    kept = "named_struct('kept', concat(seen.kept, array(r._time)), 'gone', seen.gone)"
    place = f"array(cast(struct(r._partition, r._offset) as {PLACE}))"
    gone = f"named_struct('kept', seen.kept, 'gone', concat(seen.gone, {place}))"
    start = f"named_struct('kept', cast(array() as array<bigint>), 'gone', cast(array() as array<{PLACE}>))"
    return f"aggregate(_rows, {start}, (seen, r) -> if(r._new = 1 and {near}, {gone}, {kept}), seen -> seen.gone)"


def _micros(span: timedelta) -> int:
    return span // timedelta(microseconds=1)


def type_names(fields: spark.StructType) -> dict[str, str]:
    """Column → Spark's name of its type."""
    return {field.name: field.dataType.typeName() for field in fields.fields}
