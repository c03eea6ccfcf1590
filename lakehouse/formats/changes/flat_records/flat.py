"""Flattened records: a row's columns beside some fields that tell of the change."""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.declarations.formats.change_format import Flat
from lakehouse.formats.changes.encodings import JSON, PlainEncoding
from lakehouse.formats.changes.facts import (
    DELETE,
    OPERATIONS,
    READ,
    TOMBSTONE,
    TRUNCATE,
    UPDATE,
    Bools,
    ChangePositions,
    ChangeTable,
    Errors,
    Facts,
    bools,
    report,
)
from lakehouse.formats.changes.flat_records.json_fields import canonical, text_of_json, time_of_json, whole_numbers
from lakehouse.formats.changes.reading import Fields, Form, Odd, WireColumns, fields_of, undeclared
from lakehouse.formats.changes.special_values.encoding import images_of
from lakehouse.formats.json.columns import wire_columns
from lakehouse.formats.json.model import record_model
from lakehouse.formats.json.record_parser import RecordParser
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_TRUE, _FALSE = pa.array(["true", '"true"']), pa.array(["false", '"false"'])


class FlatForm(Form):
    """Flat messages of one table.

    Of what tells of the change the JSON is taken, since a field of it may be a column as well, of any type.
    """

    def __init__(self, table: ChangeTable, options: Flat) -> None:
        """Prepares.

        Raises:
            UndecodableType: a column's type has no form in these messages.
        """
        self._options = options
        images = images_of(table, PlainEncoding(options.unavailable))
        names = (options.operation, *options.position, options.deleted, options.source_time, options.transaction_id)
        self._meta_names = tuple(dict.fromkeys(name for name in names if name is not None))
        self._meta = pa.schema([pa.field(name, JSON) for name in self._meta_names])
        row = pa.schema(images.raw((*self._meta_names, *options.ignored)))
        self._row = pa.struct(images.fields)
        self._width = len(images.fields)
        self._shared = [name for name in self._meta_names if name in images.names]
        self.wire = row
        whole = record_model(row)
        strict = msgspec.defstruct("Strict", [], bases=(whole,), forbid_unknown_fields=True, gc=False)
        self.blank = strict()
        self._strict, self._lenient = RecordParser(strict), RecordParser(whole)
        self._known = frozenset(row.names)
        self._source = next((name for name in table.sources if name is not None), None)

    def parse_all(self, values: pa.BinaryArray) -> list[Any] | None:
        """All as records."""
        return self._strict.parse_all(values)

    def parse(self, value: bytes) -> Any | RecordError:
        """One as a record."""
        return self._strict.parse(value)

    def odd(self, value: bytes) -> Odd | RecordError:
        """A record with fields that nobody declared; it is read without them, and they are kept."""
        fields = fields_of(value)
        if isinstance(fields, RecordError):
            return fields
        record: Any = self._lenient.parse(value)
        return record if isinstance(record, RecordError) else Odd(record, extra=undeclared(fields, self._known))

    def image(self, value: bytes, name: str) -> Fields:
        """The fields of the record, which is its one image."""
        del name
        fields = fields_of(value)
        assert not isinstance(fields, RecordError)
        return fields

    def without_images(self, fields: Fields) -> Fields:
        """The fields that tell of the change, also those that are columns as well."""
        return {name: value for name, value in fields.items() if name in self._meta_names}

    def read(self, values: pa.BinaryArray) -> WireColumns:
        """Every value as a row; fields that are columns as well are read a second time."""
        read = super().read(values)
        if self._shared:
            wire = pa.schema([pa.field(name, JSON) for name in self._shared])
            model = record_model(wire)
            parser = RecordParser(model)
            again = [parser.parse(value) for value in values.to_pylist()]
            records: list[Any] = [model() if isinstance(record, RecordError) else record for record in again]
            read.columns.extend(wire_columns(records, wire))
        return read

    def facts(self, read: WireColumns, offsets: pa.Int64Array | None) -> Facts:
        """What the records say."""
        count = len(read.columns[0])
        errors = dict(read.errors)
        members = self._meta_columns(read)
        operation, ours = self._operation(members, read, errors)
        if not self._options.position:
            operation[operation == TOMBSTONE] = DELETE
        positions = self._positions(members, offsets, operation, ours, errors)
        row = pa.StructArray.from_arrays(read.columns[: self._width], fields=_fields(self._row, read.columns))
        empty = np.isin(operation, (TRUNCATE, TOMBSTONE))
        empty[read.tombstones] = True
        deleted = operation == DELETE
        return Facts(
            operation=operation,
            before=_where(row, deleted & ~empty),
            after=_where(row, ~deleted & ~empty),
            places=positions,
            source=pa.nulls(count, pa.string()) if self._source is None else pa.repeat(self._source, count),
            transaction_id=text_of_json(members.get(self._options.transaction_id or ""), count),
            source_time=time_of_json(members.get(self._options.source_time or ""), count),
            extra=read.extra,
            errors=errors,
        )

    def _meta_columns(self, read: WireColumns) -> dict[str, pa.StringArray]:
        """The JSON of each field that tells of the change."""
        own = {
            name: read.columns[self.wire.get_field_index(name)] for name in self._meta_names if name not in self._shared
        }
        return own | dict(zip(self._shared, read.columns[len(self.wire) :], strict=True))

    def _operation(
        self, members: dict[str, pa.StringArray], read: WireColumns, errors: Errors
    ) -> tuple[np.ndarray, Bools]:
        """Numbers of operations, and which rows are records."""
        if self._options.operation is None:
            return self._upserts(members, read, errors)
        given = {
            msgspec.json.encode(name).decode(): OPERATIONS.index(o) for name, o in self._options.operations.items()
        }
        codes = pc.index_in(canonical(members[self._options.operation]), value_set=pa.array(list(given)))
        operation = np.array([*given.values(), DELETE], np.int8)[codes.fill_null(len(given)).to_numpy()]
        known = bools(codes.is_valid())
        ours = np.ones(len(codes), np.bool_)
        for rows in (read.tombstones, list(errors)):
            ours[rows] = False
        if self._options.deleted is not None:
            deleted = members[self._options.deleted]
            marked = bools(pc.is_in(deleted, value_set=_TRUE))
            neither = bools(deleted.is_valid()) & ~marked & ~bools(pc.is_in(deleted, value_set=_FALSE))
            error = RecordError("unknown_operation", f"`{self._options.deleted}` is neither true nor false")
            report(errors, np.flatnonzero(ours & neither), error)
            operation[marked] = DELETE
            known |= marked
        error = RecordError("unknown_operation", f"`{self._options.operation}` is none of {', '.join(given)}")
        report(errors, np.flatnonzero(ours & ~known), error)
        operation[read.tombstones] = TOMBSTONE
        return operation, ours & known

    def _upserts(
        self, members: dict[str, pa.StringArray], read: WireColumns, errors: Errors
    ) -> tuple[np.ndarray, Bools]:
        """Every record with a value is the row as it is now."""
        del members
        operation = np.full(len(read.columns[0]), UPDATE, np.int8)
        ours = np.ones(len(operation), np.bool_)
        for rows in (read.tombstones, list(errors)):
            ours[rows] = False
        operation[read.tombstones] = TOMBSTONE
        return operation, ours

    def _positions(
        self,
        members: dict[str, pa.StringArray],
        offsets: pa.Int64Array | None,
        operation: np.ndarray,
        ours: Bools,
        errors: Errors,
    ) -> ChangePositions:
        count = len(operation)
        if not self._options.position:
            # The log itself is the order, so all that is in it has a place: reads and tombstones too.
            own = np.arange(count) if offsets is None else offsets.to_numpy()
            return ChangePositions(np.ones(count, np.int64), own, np.ones(count, np.bool_))
        numbers = [whole_numbers(members[name]) for name in self._options.position]
        known = np.logical_and.reduce([has for _, has in numbers]) & ours
        error = RecordError(
            "unknown_position",
            f"{', '.join(f'`{name}`' for name in self._options.position)}: no whole number from 0 on",
        )
        report(errors, np.flatnonzero(ours & ~known), error)
        first, second = numbers[0][0], numbers[1][0] if len(numbers) > 1 else np.zeros(count, np.int64)
        read = operation == READ
        return ChangePositions(np.where(read, 0, first), np.where(read, first, second), known)


def _fields(kind: pa.StructType, columns: list[pa.Array]) -> list[pa.Field]:
    """As parsed: what is taken as JSON has become text."""
    return [pa.field(child.name, column.type) for child, column in zip(kind, columns, strict=False)]


def _where(row: pa.StructArray, present: Bools) -> pa.StructArray:
    """The row where it is wanted; elsewhere neither it nor its columns."""
    if present.all():
        return row
    mask = pa.array(present)
    columns = [_only(mask, row.field(i)) for i in range(row.type.num_fields)]
    return pa.StructArray.from_arrays(columns, fields=list(row.type), mask=pa.array(~present))


def _only(mask: pa.BooleanArray, column: pa.Array) -> pa.Array:
    return column.take(pc.if_else(mask, pa.array(np.arange(len(column))), pa.scalar(None, pa.int64())))
