"""Which row belongs to which partition."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as t
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    MonthTransform,
    VoidTransform,
    YearTransform,
)

from lakehouse.steps.ingest.parquet_files.buckets import bucket

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR

PartitionTuple = tuple[Any, ...]


class Partitioner:
    """Splits batches by partition.

    Values are in Iceberg's internal form: days and microseconds as integers.
    """

    def __init__(self, spec: PartitionSpec, schema: Schema) -> None:
        self._fields = [_Field.of(field, schema) for field in spec.fields]

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[PartitionTuple, pa.RecordBatch]]:
        """The rows of each partition, in order. A batch of one partition is not copied."""
        if batch.num_rows == 0:
            return
        encoded = [_encode(field.values(batch)) for field in self._fields]
        codes = np.zeros(batch.num_rows, dtype=np.int64)
        for code, values in encoded:
            codes = codes * len(values) + code
            # Renumbered after every field, so that the product cannot overflow.
            codes = np.unique(codes, return_inverse=True)[1]
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
            rows = order[start:end]
            partition = tuple(values[code[rows[0]]] for code, values in encoded)
            yield partition, batch if len(starts) == 1 else batch.take(pa.array(rows))


@dataclass(frozen=True)
class _Field:
    """One partition field, read off a batch."""

    source: str
    vectorised: Callable[[pa.Array], pa.Array] | None
    one_by_one: Callable[[Any], Any]

    @classmethod
    def of(cls, field: PartitionField, schema: Schema) -> "_Field":
        if isinstance(field.transform, VoidTransform):
            return cls("", None, lambda _: None)
        source = schema.find_field(field.source_id)
        if isinstance(field.transform, BucketTransform):
            vectorised = bucket(source.field_type, field.transform.num_buckets)
        else:
            vectorised = _VECTORISED.get(type(field.transform))
        return cls(source.name, vectorised, field.transform.transform(source.field_type))

    def values(self, batch: pa.RecordBatch) -> pa.DictionaryArray:
        if not self.source:
            return pa.nulls(batch.num_rows).dictionary_encode()
        column = _internal(batch.column(self.source))
        if self.vectorised is not None:
            return self.vectorised(column).dictionary_encode()
        encoded = column.dictionary_encode()
        # Identity, truncate and the rest of bucket are taken from their definition, once per distinct value.
        changed = [self.one_by_one(value) for value in encoded.dictionary.to_pylist()]
        return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(changed)) if changed else encoded


def _encode(values: pa.DictionaryArray) -> tuple[np.ndarray, list[Any]]:
    """Codes and what they mean; null is a value like any other, and comes last."""
    meaning = [*values.dictionary.to_pylist(), None]
    codes = values.indices.fill_null(len(meaning) - 1).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64), meaning


def _internal(column: pa.Array) -> pa.Array:
    if t.is_date32(column.type):
        return column.view(pa.int32())
    return column.view(pa.int64()) if t.is_timestamp(column.type) else column


def _calendar(unit: str) -> Callable[[pa.Array], pa.Array]:
    def since_1970(column: pa.Array) -> pa.Array:
        days = _floored(column, _DAY).astype("datetime64[D]")
        return pa.array(days.astype(f"datetime64[{unit}]").astype(np.int64), mask=_null(column))

    return since_1970


def _day(column: pa.Array) -> pa.Array:
    return pa.array(_floored(column, _DAY), mask=_null(column))


def _hour(column: pa.Array) -> pa.Array:
    return pa.array(_floored(column, _HOUR), mask=_null(column))


def _floored(column: pa.Array, unit: int) -> npt.NDArray[np.int64]:
    """Whole days or hours: dates are days already (and 32 bits), timestamps microseconds."""
    numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers.astype(np.int64) if t.is_int32(column.type) else np.floor_divide(numbers, unit)


def _null(column: pa.Array) -> npt.NDArray[np.bool_]:
    return column.is_null().to_numpy(zero_copy_only=False)


# Of pyiceberg-core 0.10 some days of timestamps are others, and years and months of dates far away are null.
_VECTORISED: dict[type, Callable[[pa.Array], pa.Array]] = {
    YearTransform: _calendar("Y"),
    MonthTransform: _calendar("M"),
    DayTransform: _day,
    HourTransform: _hour,
}
