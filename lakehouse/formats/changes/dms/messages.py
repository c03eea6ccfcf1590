"""AWS DMS's JSON: `data`, `before` and `metadata`, of records of data and of control."""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.declarations.formats.change_format import Dms
from lakehouse.formats.changes.dms.source_position import places
from lakehouse.formats.changes.dms.values import DmsEncoding
from lakehouse.formats.changes.encodings import JSON
from lakehouse.formats.changes.facts import (
    CONTROL,
    DELETE,
    INSERT,
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
from lakehouse.formats.changes.names import Names, joined
from lakehouse.formats.changes.reading import Fields, Form, Odd, WireColumns, fields_of, member, undeclared
from lakehouse.formats.changes.special_values.encoding import images_of
from lakehouse.formats.changes.times import micros_of_text
from lakehouse.formats.json.model import record_model
from lakehouse.formats.json.record_parser import RecordParser
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_DATA = {"load": READ, "insert": INSERT, "update": UPDATE, "delete": DELETE}
_METADATA = pa.schema(
    [
        pa.field("record-type", pa.string()),
        pa.field("operation", pa.string()),
        pa.field("schema-name", pa.string()),
        pa.field("table-name", pa.string()),
        pa.field("timestamp", pa.string()),
        pa.field("commit-timestamp", pa.string()),
        pa.field("transaction-id", JSON),
        pa.field("transaction-record-id", pa.int64()),
        pa.field("stream-position", JSON),
    ]
)
_UNKNOWN_OPERATION = RecordError("unknown_operation", "`metadata` tells no operation on data that we know")


class DmsForm(Form):
    """DMS's messages of one table."""

    def __init__(self, table: ChangeTable, options: Dms) -> None:
        """Prepares.

        Raises:
            UndecodableType: a column's type has no form in these messages.
        """
        images = images_of(table, DmsEncoding())
        data = images.raw(options.ignored)
        whole, row = record_model(pa.schema(data)), record_model(pa.schema(images.fields))
        strict = msgspec.defstruct("Strict", [], bases=(whole,), forbid_unknown_fields=True, gc=False)
        self.wire = pa.schema(
            [
                pa.field("metadata", pa.struct(list(_METADATA))),
                pa.field("data", pa.struct(data)),
                pa.field("before", pa.struct(images.fields)),
            ]
        )
        model = _message(strict, row)
        self.blank = model()
        self._strict, self._lenient = RecordParser(model), RecordParser(_message(whole, row))
        self._known = frozenset((*images.names, *options.ignored))
        self._names = Names(table)

    def parse_all(self, values: pa.BinaryArray) -> list[Any] | None:
        """All as messages."""
        return self._strict.parse_all(values)

    def parse(self, value: bytes) -> Any | RecordError:
        """One as a message."""
        return self._strict.parse(value)

    def odd(self, value: bytes) -> Odd | RecordError:
        """A message with columns that nobody declared; it is read without them, and they are kept."""
        fields = fields_of(value)
        if isinstance(fields, RecordError):
            return fields
        record: Any = self._lenient.parse(value)
        if isinstance(record, RecordError):
            return record
        data = member(fields, "data")
        return Odd(record, extra=undeclared(data, self._known) if data else None)

    def image(self, value: bytes, name: str) -> Fields:
        """The fields of an image; that of a deleted row is in `data`, where it is not in `before`."""
        fields = fields_of(value)
        assert not isinstance(fields, RecordError)
        return (member(fields, "before") if name == "before" else None) or member(fields, "data") or {}

    def without_images(self, fields: Fields) -> Fields:
        """The metadata."""
        return {name: value for name, value in fields.items() if name == "metadata"}

    def facts(self, read: WireColumns, offsets: pa.Int64Array | None) -> Facts:
        """What the messages say."""
        del offsets
        metadata, data, before = read.columns
        members = {field.name: metadata.field(i) for i, field in enumerate(_METADATA)}
        errors = dict(read.errors)
        operation, ours = _operation(members, read, errors)
        names = joined(members["schema-name"], members["table-name"])
        changes = ours & (operation != CONTROL)
        report(errors, np.flatnonzero(changes & ~self._names.taken(names)), self._names.error)
        time = micros_of_text(members["timestamp"])
        positions = places(members, time, operation, changes, errors)
        from_data = pa.array((operation == DELETE) & bools(before.is_null()))
        return Facts(
            operation=operation,
            before=_either(from_data, data, before),
            after=data,
            places=positions,
            source=names,
            transaction_id=pc.replace_substring_regex(members["transaction-id"], '^"(.*)"$', r"\1"),
            source_time=pc.coalesce(micros_of_text(members["commit-timestamp"]), time),
            extra=read.extra,
            errors=errors,
        )


def _message(data: type[msgspec.Struct], before: type[msgspec.Struct]) -> type[msgspec.Struct]:
    members: list[tuple[str, Any, Any]] = [
        ("metadata", record_model(_METADATA) | None, None),
        ("data", data | None, None),
        ("before", before | None, None),
    ]
    return msgspec.defstruct("Message", members, gc=False)


def _operation(members: dict[str, Any], read: WireColumns, errors: Errors) -> tuple[np.ndarray, Bools]:
    """Numbers of operations, and which rows have a message."""
    kind, name = members["record-type"], members["operation"]
    ours = np.ones(len(name), np.bool_)
    for rows in (read.tombstones, list(errors)):
        ours[rows] = False
    codes = pc.index_in(name, value_set=pa.array(list(_DATA)))
    operation = np.array([*_DATA.values(), CONTROL], np.int8)[codes.fill_null(len(_DATA)).to_numpy()]
    of_data = bools(pc.equal(kind, "data")) & bools(codes.is_valid())
    of_control = bools(pc.equal(kind, "control")) & bools(name.is_valid())
    operation[of_control] = CONTROL
    operation[of_control & bools(pc.equal(name, "truncate-table"))] = TRUNCATE
    operation[read.tombstones] = TOMBSTONE
    unknown = ours & ~of_data & ~of_control
    report(errors, np.flatnonzero(unknown), _UNKNOWN_OPERATION)
    return operation, ours & ~unknown


def _either(first: pa.BooleanArray, preferred: Any, other: Any) -> pa.StructArray:
    """Of each column of `other`, what `preferred` has in some rows."""
    kind = other.type
    if not first.true_count:
        return other
    columns = [pc.if_else(first, preferred.field(i), other.field(i)) for i in range(kind.num_fields)]
    mask = pc.if_else(first, preferred.is_null(), other.is_null())
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask)
