"""Facts to rows of the changelog: images in their types, the key from wherever it is, the position."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.changes.debezium.header_encoding import HeaderEncoding
from lakehouse.formats.changes.encodings import DebeziumEncoding, Encoding
from lakehouse.formats.changes.facts import (
    CONTROL,
    DELETE,
    INSERT,
    OPERATIONS,
    READ,
    TOMBSTONE,
    TRUNCATE,
    UPDATE,
    Bools,
    ChangeTable,
    Errors,
    Facts,
    bools,
    report,
)
from lakehouse.formats.changes.keys import KeyReader, key_headers
from lakehouse.formats.changes.reading import Fields
from lakehouse.formats.changes.row_images import Image
from lakehouse.formats.changes.special_values.encoding import images_of
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_FIRST_MICRO, _LAST_MICRO = -62_135_596_800_000_000, 253_402_300_799_999_999

_NO_ROW = RecordError(
    "missing_key", "neither a key nor `before` tells which row was deleted: a table without a key needs whole images"
)


@dataclass(frozen=True)
class Messages:
    """What Kafka has beside the facts, row by row; `image` looks into a message again."""

    values: pa.BinaryArray
    keys: pa.BinaryArray | None
    headers: pa.StringArray | None
    image: Callable[[bytes, str], Fields]

    def key(self, row: int) -> bytes | None:
        """The Kafka key."""
        return None if self.keys is None else self.keys[row].as_py()


class RowBuilder:
    """Builds rows of one changelog."""

    def __init__(self, table: ChangeTable, encoding: Encoding, epoch: int) -> None:
        self._table = table
        self._epoch = epoch
        self._images = images_of(table, encoding)
        self._keys = KeyReader(table, encoding)
        in_headers = HeaderEncoding(encoding) if isinstance(encoding, DebeziumEncoding) else encoding
        self._header_keys = KeyReader(table, in_headers)
        self._key_names = [field.name for field in table.source_key]
        self._key_places = [self._images.names.index(name) for name in self._key_names]

    @property
    def key_reader(self) -> KeyReader:
        """Reads Kafka keys."""
        return self._keys

    def build(self, facts: Facts, messages: Messages) -> tuple[pa.RecordBatch, Errors]:
        """A row for each fact, and why some are none."""
        errors = dict(facts.errors)
        before = self._images.read(facts.before, "before")
        after = self._images.read(facts.after, "after")
        report_images(errors, facts, before, after)
        deleted = facts.operation == DELETE
        key = self._key(facts, before, after, messages, errors)
        schema = self._table.schema
        has_after = bools(after.present) & np.isin(facts.operation, (INSERT, UPDATE, READ))
        columns = {
            "operation": pa.array(OPERATIONS).take(pa.array(facts.operation)),
            "before": _struct(before.columns, bools(before.present), self._table.row),
            "after": _struct(after.columns, has_after & ~deleted, self._table.row),
            "unavailable": self._unavailable(after, has_after, schema.field("unavailable").type),
            "extra": _extra(facts, has_after),
            "source": facts.source,
            "position": self._position(facts, schema.field("position").type),
            "transaction_id": facts.transaction_id,
            "source_time": _moments(facts.source_time, schema.field("source_time").type),
        }
        if key:
            columns["key"] = _struct(key, ~np.isin(facts.operation, (TRUNCATE, CONTROL)), self._table.key)
            columns["other_key"] = self._other_key(facts, before, key, messages)
        return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema), errors

    def _key(self, facts: Facts, before: Image, after: Image, messages: Messages, errors: Errors) -> list[pa.Array]:
        """The key's columns: of the image that has the row, else of the Kafka key; none of a table without a key."""
        deleted = facts.operation == DELETE
        if not self._key_places:
            report(errors, np.flatnonzero(deleted & ~bools(before.present)), _NO_ROW)
            return []
        columns = [after.columns[column_index] for column_index in self._key_places]
        if deleted.any():
            mask = pa.array(deleted)
            olds = [before.columns[column_index] for column_index in self._key_places]
            columns = [pc.if_else(mask, old, new) for old, new in zip(olds, columns, strict=True)]
        lacking = np.isin(facts.operation, (INSERT, UPDATE, DELETE, READ)) & _any_null(columns)
        wanted = lacking | (facts.operation == TOMBSTONE)
        if errors:
            wanted[list(errors)] = False
        rows = np.flatnonzero(wanted)
        if not len(rows):
            return columns
        keys = self._keys.read([messages.key(row) for row in rows.tolist()])
        readable = rows
        if keys.errors:
            good = np.ones(len(rows), np.bool_)
            for number, error in keys.errors.items():
                good[number] = False
                if (judged := self._judged(facts, int(rows[number]), messages, error)) is not None:
                    errors.setdefault(int(rows[number]), judged)
            readable = rows[good]
        index = np.arange(len(facts))
        index[readable] = len(facts) + np.searchsorted(rows, readable)
        return [
            pa.concat_arrays([own, kafka]).take(pa.array(index))
            for own, kafka in zip(columns, keys.columns, strict=True)
        ]

    def _judged(self, facts: Facts, row: int, messages: Messages, error: RecordError) -> RecordError | None:
        """Why a key that is neither whole in its image nor in the Kafka key is none, if it is none."""
        operation = int(facts.operation[row])
        name = "before" if operation == DELETE else "after"
        if operation == TOMBSTONE or not getattr(facts, name)[row].is_valid:
            return error
        sent = messages.image(messages.values[row].as_py(), name)
        missing = [name for name in self._key_names if name not in sent]
        if missing:
            return RecordError("missing_key", f"`{name}.{missing[0]}`, of the key, is missing")
        if self._table.null_keys == "equal":
            return None
        return RecordError("null_in_key", f"a column of the key is null in `{name}`")

    def _other_key(self, facts: Facts, before: Image, key: list[pa.Array], messages: Messages) -> pa.Array:
        """From Debezium's headers, or from the image before an update that changed the key."""
        index = np.full(len(facts), -1, np.int64)
        header_keys = key_headers(messages.headers, facts.operation)
        others = self._header_keys.read(list(header_keys.values()))
        for number, row in enumerate(header_keys):
            if number not in others.errors:
                index[row] = number
        olds = [before.columns[column_index] for column_index in self._key_places]
        changed = (facts.operation == UPDATE) & bools(before.present)
        if changed.any():
            changed &= ~_any_null(olds) & _any_different(olds, key)
            index[changed] = len(header_keys) + np.flatnonzero(changed)
        if (index < 0).all():
            return pa.nulls(len(facts), self._table.key)
        source = [pa.concat_arrays([header_key, old]) for header_key, old in zip(others.columns, olds, strict=True)]
        indices = pa.array(index, mask=index < 0)
        return _struct([column.take(indices) for column in source], index >= 0, self._table.key)

    def _unavailable(self, after: Image, has_after: Bools, kind: Any) -> pa.Array:
        if not after.unavailable:
            return pa.nulls(len(has_after), kind)
        missing = np.stack([rows & has_after for rows in after.unavailable.values()], axis=1)
        names = pa.array([self._table.row.field(column_index).name for column_index in after.unavailable])
        offsets = np.concatenate(([0], np.cumsum(missing.sum(axis=1)))).astype(np.int32)
        values = names.take(pa.array(np.nonzero(missing)[1]))
        return pa.ListArray.from_arrays(pa.array(offsets), values, type=kind, mask=pa.array(~missing.any(axis=1)))

    def _position(self, facts: Facts, kind: pa.StructType) -> pa.Array:
        positions = facts.places
        parts = [pa.repeat(pa.scalar(self._epoch, pa.int64()), len(facts)), pa.array(positions.commit)]
        return _struct([*parts, pa.array(positions.sequence)], positions.known, kind)


def report_images(errors: Errors, facts: Facts, before: Image, after: Image) -> None:
    """Refuse changes without the image that they are about, and images that cannot be read."""
    wanting = np.isin(facts.operation, (INSERT, UPDATE, READ)) & ~bools(after.present)
    report(errors, np.flatnonzero(wanting), RecordError("missing_field", "`after` is missing or null"))
    for image in (after, before):
        for row, error in image.errors.items():
            errors.setdefault(row, error)


def _struct(columns: list[pa.Array], present: Bools, kind: pa.StructType) -> pa.Array:
    mask = None if present.all() else pa.array(~present)
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask)


def _any_null(columns: list[pa.Array]) -> Bools:
    nulls = np.zeros(len(columns[0]), np.bool_)
    for column in columns:
        if column.null_count:
            nulls |= bools(column.is_null())
    return nulls


def _any_different(olds: list[pa.Array], news: list[pa.Array]) -> Bools:
    different = np.zeros(len(olds[0]), np.bool_)
    for old, new in zip(olds, news, strict=True):
        different |= bools(pc.not_equal(old, new))
    return different


def _extra(facts: Facts, has_after: Bools) -> pa.Array:
    if not facts.extra:
        return pa.nulls(len(facts), pa.string())
    return pa.array([facts.extra.get(row) if present else None for row, present in enumerate(has_after)], pa.string())


def _moments(micros: pa.Int64Array, kind: pa.DataType) -> pa.Array:
    """A time that no calendar has is none; the change itself can be read."""
    extent = pc.min_max(micros).as_py()
    if extent["min"] is not None and not (extent["min"] >= _FIRST_MICRO and extent["max"] <= _LAST_MICRO):
        inside = pc.and_(pc.greater_equal(micros, _FIRST_MICRO), pc.less_equal(micros, _LAST_MICRO))
        micros = pc.if_else(inside, micros, pa.scalar(None, pa.int64()))
    return micros.view(kind)
