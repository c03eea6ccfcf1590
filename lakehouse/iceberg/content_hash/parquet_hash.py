"""A Parquet file of simple columns, hashed while it streams: no row group is in memory as a whole.

Columns are found by their field ids, as Iceberg has it, so renamed and promoted ones are what the table shows.
"""

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.table import Table

from lakehouse.iceberg.content_hash.nested_values import flat

_FIELD_ID = b"PARQUET:field_id"
_MOST_BYTES = 512 * 1024**2  # of a file, which is in memory as it is stored
_PROMOTIONS = {(pl.Int32, pl.Int64), (pl.Float32, pl.Float64)}


def streamed(table: Table, file: DataFile) -> pl.LazyFrame | None:
    """The rows of a data file as the table's schema shows them, not read yet.

    Returns:
        None where it takes more than reading: nested columns, a column that is not in the file, another format.
    """
    if file.file_format != FileFormat.PARQUET or file.file_size_in_bytes > _MOST_BYTES:
        return None
    schema = schema_to_pyarrow(table.schema(), include_field_ids=False)
    if any(pa.types.is_nested(field.type) for field in schema):
        return None
    with table.io.new_input(file.file_path).open() as opened:
        stored = opened.read()
    rows = pl.scan_parquet(stored)
    names = _names_by_id(pq.read_schema(pa.BufferReader(stored)))
    stored_types, columns = rows.collect_schema(), []
    for field, kind in zip(table.schema().fields, _types(schema), strict=True):
        name = names.get(field.field_id)
        if name is None or not _promotes(stored_types[name], kind):
            return None
        columns.append(pl.col(name).cast(kind).alias(field.name))
    return rows.select(columns)


def _names_by_id(schema: pa.Schema) -> dict[int, str]:
    return {int(field.metadata[_FIELD_ID]): field.name for field in schema if _FIELD_ID in (field.metadata or {})}


def _types(schema: pa.Schema) -> list[pl.DataType]:
    """What polars makes of columns that PyIceberg reads."""
    return [pl.Series(flat(pa.array([], field.type))).dtype for field in schema]


def _promotes(stored: pl.DataType, kind: pl.DataType) -> bool:
    """Whether one becomes the other by a promotion that Iceberg knows, which changes no value."""
    if isinstance(stored, pl.Decimal) and isinstance(kind, pl.Decimal):
        return stored.scale == kind.scale
    return stored == kind or (type(stored), type(kind)) in _PROMOTIONS
