"""Is what a manifest claims of a Parquet file true of it? Its footer knows, so that no row has to be read.

A bound may be looser than the values are, as long texts are shortened in it. It must not leave out a value. What a
footer does not say, such as the bounds of a column without statistics, contradicts nothing.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import UnknownTransform, VoidTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

_ID = b"PARQUET:field_id"
_WHOLE_STATISTICS = 63
"""Bytes of a text that are surely in a footer as they are in the file: some writers keep no more than 64 of them."""
_INTEGERS = (IntegerType, LongType, DateType)
_MICROSECONDS = (TimestampType, TimestamptzType, TimeType)
_NARROW_BYTES = 4


@dataclass(frozen=True)
class ColumnFooter:
    """What a footer says of one column that is not in a list or map.

    Args:
        nulls: how many; None where it does not say.
        low: its least value as Iceberg has it in memory, texts as bytes; None where it does not say.
        high: its greatest value.
    """

    nulls: int | None
    low: Any = None
    high: Any = None


def false_claim(table: Table, files: Iterable[DataFile]) -> str:
    """The first of some files that is not as it is listed, and how; empty where all are, as far as footers say.

    Args:
        table: to which they belong.
        files: as manifests list them; those that are not Parquet are left alone.
    """
    for file in files:
        if file.file_format != FileFormat.PARQUET:
            continue
        with table.io.new_input(file.file_path).open() as stream:
            parquet = pq.ParquetFile(pa.PythonFile(stream, mode="r"))
            problem = contradiction(file, parquet, table.schema(), table.specs()[file.spec_id])
        if problem:
            return f"{file.file_path.rpartition('/')[2]} {problem}"
    return ""


def contradiction(file: DataFile, parquet: pq.ParquetFile, schema: Schema, spec: PartitionSpec) -> str:
    """The first claim of a file that its footer contradicts, in words without values; empty where none is.

    Args:
        file: as a manifest lists it.
        parquet: it, opened.
        schema: of the table; claims about columns that are not in it are left alone.
        spec: by which the file is partitioned.
    """
    rows = parquet.metadata.num_rows
    if rows != file.record_count:
        return f"holds {rows:,} rows, and {file.record_count:,} are counted in it"
    if _misses_row_groups(file, parquet.metadata):
        return "is listed with places to split it at that leave out rows"
    columns = footer_columns(parquet, schema)
    for field_id, column in columns.items():
        if wrong := _wrong_column(file, rows, column, field_id, schema.find_type(field_id)):
            return f"is listed with a wrong {wrong} of column {schema.find_column_name(field_id)}"
    for index, field in enumerate(spec.fields):
        source = columns.get(field.source_id)
        if source is not None and _wrong_partition(file.partition[index], field, source, rows, schema):
            return f"is listed in another partition than its values of {schema.find_column_name(field.source_id)} are"
    return ""


def _misses_row_groups(file: DataFile, metadata: pq.FileMetaData) -> bool:
    """Whether a reader that splits a file as it is told, as Spark does, comes by all of its rows once.

    It reads from the first place to the second, and so on, to the end: what lies before the first, nobody reads.
    """
    places = list(file.split_offsets or ())
    if not places or places[-1] >= file.file_size_in_bytes or not metadata.num_row_groups:
        return False  # nobody goes by them
    return places != sorted(set(places)) or places[0] > _begin(metadata.row_group(0))


def _begin(group: pq.RowGroupMetaData) -> int:
    first = group.column(0)
    offsets = (first.dictionary_page_offset if first.has_dictionary_page else None, first.data_page_offset)
    return min(offset for offset in offsets if offset is not None)


def footer_columns(parquet: pq.ParquetFile, schema: Schema) -> Mapping[int, ColumnFooter]:
    """What a footer says, by field id; without columns in lists and maps, and without those the schema has not."""
    metadata = parquet.metadata
    columns: dict[int, ColumnFooter] = {}
    for index, field_id in enumerate(_leaf_ids(parquet.schema_arrow)):
        kind = schema.find_type(field_id) if field_id is not None and field_id in schema.field_ids else None
        if field_id is None or metadata.schema.column(index).max_repetition_level or not _is_readable(kind):
            continue
        chunks = [metadata.row_group(group).column(index) for group in range(metadata.num_row_groups)]
        columns[field_id] = _column(kind, chunks, metadata.schema.column(index))
    return columns


def _is_readable(kind: Any) -> bool:
    known = (*_INTEGERS, *_MICROSECONDS, BooleanType, FloatType, DoubleType, DecimalType, StringType, BinaryType)
    return isinstance(kind, known)


def _leaf_ids(schema: pa.Schema) -> Iterator[int | None]:
    """The field ids of the leaves, in the order of the Parquet file's columns."""

    def leaves(field: pa.Field) -> Iterator[int | None]:
        kind = field.type
        if pa.types.is_map(kind):
            children = [kind.key_field, kind.item_field]
        else:
            children = [kind.field(index) for index in range(kind.num_fields)]
        if children:
            for child in children:
                yield from leaves(child)
        else:
            text = (field.metadata or {}).get(_ID)
            yield int(text) if text is not None else None

    for field in schema:
        yield from leaves(field)


def _column(kind: Any, chunks: Sequence[Any], described: Any) -> ColumnFooter:
    statistics = [chunk.statistics for chunk in chunks]
    known = [s for s in statistics if s is not None]
    nulls = sum(s.null_count for s in known) if all(s is not None and s.has_null_count for s in statistics) else None
    convert = _conversion(kind, described)
    # A row group without a value has no bounds, and needs none.
    unbounded = any(
        s is None or not (s.has_min_max or (s.has_null_count and s.null_count == chunk.num_values))
        for s, chunk in zip(statistics, chunks, strict=True)
    )
    bounded = [s for s in known if s.has_min_max]
    if convert is None or unbounded or not bounded:
        return ColumnFooter(nulls)
    return ColumnFooter(nulls, min(convert(s, "min") for s in bounded), max(convert(s, "max") for s in bounded))


def _conversion(kind: Any, described: Any) -> Callable[[Any, str], Any] | None:
    """From a row group's statistics to a value as Iceberg has it; None where that is not known for the column."""
    if isinstance(kind, DecimalType):
        return getattr
    if isinstance(kind, _MICROSECONDS) and "microseconds" not in str(described.logical_type):
        return None
    return lambda statistics, end: getattr(statistics, f"{end}_raw")


def _wrong_column(file: DataFile, rows: int, column: ColumnFooter, field_id: int, kind: Any) -> str:
    values, nulls, nans = (
        (claims or {}).get(field_id) for claims in (file.value_counts, file.null_value_counts, file.nan_value_counts)
    )
    if values is not None and values != rows:
        return "value count"
    if nulls is not None and column.nulls is not None and nulls != column.nulls:
        return "null count"
    if nans and column.low is not None and column.low == column.low and nans + (nulls or 0) >= rows:
        return "NaN count"  # a footer's bounds are of values that are none
    lower, upper = (
        decoded_bound(kind, (claims or {}).get(field_id)) for claims in (file.lower_bounds, file.upper_bounds)
    )
    if lower is not None and column.low is not None and _less(column.low, lower):
        return "lower bound"
    return "upper bound" if upper is not None and column.high is not None and _less(upper, column.high) else ""


def decoded_bound(kind: PrimitiveType, bound: bytes | None) -> Any:
    """A bound as Iceberg has it in memory, texts as bytes; None where it cannot be read."""
    if bound is None or isinstance(kind, StringType | BinaryType):
        return bound
    try:
        if len(bound) == _NARROW_BYTES:  # of before the column was widened
            kind = (
                IntegerType() if isinstance(kind, LongType) else FloatType() if isinstance(kind, DoubleType) else kind
            )
        return from_bytes(kind, bound)
    except (ValueError, struct.error):
        return None


def _less(first: Any, second: Any) -> bool:
    """Whether a value lies below another one, for sure."""
    if isinstance(first, bytes) and max(len(first), len(second)) > _WHOLE_STATISTICS:
        first, second = first[:_WHOLE_STATISTICS], second[:_WHOLE_STATISTICS]
    return bool(first < second)


def _wrong_partition(value: Any, field: PartitionField, column: ColumnFooter, rows: int, schema: Schema) -> bool:
    """Whether a file has values that are not of the partition it is listed in."""
    if isinstance(field.transform, VoidTransform | UnknownTransform) or rows == 0:
        return False
    if value is None:
        return column.nulls is not None and column.nulls < rows
    if column.nulls:
        return True
    if column.low is None or column.high is None or any(_is_long(end) for end in (column.low, column.high)):
        return False
    if not field.transform.preserves_order and column.low != column.high:
        return False
    kind = schema.find_type(field.source_id)
    transform = field.transform.transform(kind)
    ends = [end.decode() if isinstance(kind, StringType) else end for end in (column.low, column.high)]
    return any(_is_another(transform(end), value) for end in ends)


def _is_another(first: Any, second: Any) -> bool:
    both_nan = first != first and second != second  # noqa: PLR0124 - NaN alone is not equal to itself
    return bool(first != second) and not both_nan


def _is_long(value: Any) -> bool:
    return isinstance(value, bytes) and len(value) > _WHOLE_STATISTICS
