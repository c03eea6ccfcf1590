"""The same digest of rows by Spark: for files that PyIceberg cannot read, for many bytes, and for row ids.

Spark's own hash functions pass over nulls, so that two columns of which one is null look the same either way round.
Here each value is hashed beside whether it is null, on every level of nesting.
"""

from collections.abc import Iterable, Sequence

import pyspark.sql.functions as F  # noqa: N812
import pyspark.sql.types as T  # noqa: N812
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyspark.sql import Column, DataFrame, SparkSession

from lakehouse.engines.spark.naming import quoted_name
from lakehouse.iceberg.content_hash.row_hash import Contents, Digest
from lakehouse.iceberg.entries import PartitionKey, partition_of

_SEEDS = ("first", "second")
_ROW_ID = ("_row_id", "_last_updated_sequence_number")
_FILE = "_file"
_WORD = 1 << 64


def content(
    spark: SparkSession, table: Table, snapshot_id: int, files: Iterable[DataFile], *, row_ids: bool
) -> Contents:
    """Add up the rows of some data files of a snapshot, without those that it has deleted.

    Args:
        spark: with the catalog `lake`.
        table: whose files they are.
        snapshot_id: what is deleted, is so in this snapshot.
        files: data files of it.
        row_ids: whether each row's id and when it was last changed belong to it (tables of version 3).
    """
    partitions = {file.file_path: partition_of(file) for file in files}
    name = quoted_name("lake", *table.name())
    rows = spark.sql(
        f"SELECT *, {', '.join((_FILE, *(_ROW_ID if row_ids else ())))} FROM {name} VERSION AS OF {snapshot_id}"
    )
    fields = [field for field in rows.schema.fields if field.name != _FILE]
    paths = spark.createDataFrame([(path,) for path in sorted(partitions)], f"{_FILE} string")
    per_file = (
        rows.join(F.broadcast(paths), _FILE, "left_semi")
        .groupBy(_FILE)
        # Decimals, since a sum of long integers fails where it overflows.
        .agg(F.count("*"), *(F.sum(_hashed(fields, seed).cast("decimal(38,0)")) for seed in _SEEDS))
        .collect()
    )
    digests: dict[PartitionKey, Digest] = {}
    for path, count, first, second in per_file:
        digest = Digest(int(count), (int(first) % _WORD, int(second) % _WORD))
        digests[partitions[path]] = digests.get(partitions[path], Digest()) + digest
    return digests


def row_hashes(rows: DataFrame) -> DataFrame:
    """Two numbers for each row that stand for all of its columns."""
    return rows.select(*(_hashed(rows.schema.fields, seed).alias(seed) for seed in _SEEDS))


def _hashed(fields: Sequence[T.StructField], seed: str) -> Column:
    return F.xxhash64(F.lit(seed), *(_null_safe(F.col(quoted_name(field.name)), field.dataType) for field in fields))


def _null_safe(value: Column, kind: T.DataType) -> Column:
    """A value and whether it is there, so that no null can be passed over."""
    match kind:
        case T.StructType():
            parts = [_null_safe(value.getField(field.name), field.dataType) for field in kind.fields]
            return F.struct(value.isNull(), *parts)
        case T.ArrayType():
            return F.struct(
                F.coalesce(F.size(value), F.lit(-1)),
                F.transform(value, lambda element: _null_safe(element, kind.elementType)),
            )
        case T.MapType():
            entries = F.map_entries(value)
            pairs = F.transform(
                entries,
                lambda entry: F.struct(
                    _null_safe(entry["key"], kind.keyType), _null_safe(entry["value"], kind.valueType)
                ),
            )
            return F.struct(F.coalesce(F.size(value), F.lit(-1)), pairs)
        case T.VariantType():
            return F.struct(value.isNull(), F.to_json(value))
        case _:
            return F.struct(value.isNull(), value)
