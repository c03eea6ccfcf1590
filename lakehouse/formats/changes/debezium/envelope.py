"""Debezium's JSON: the envelope, bare or beside its schema, and everything else that its topics carry."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.declarations.formats.change_format import Debezium
from lakehouse.formats.changes.debezium import control
from lakehouse.formats.changes.debezium.envelope_models import Models, Source, Transaction
from lakehouse.formats.changes.debezium.non_finite import NotNumbers, put
from lakehouse.formats.changes.debezium.source_position import CONNECTORS, places, unknown_connector
from lakehouse.formats.changes.encodings import Encoding
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
from lakehouse.formats.changes.reading import (
    Fields,
    Form,
    Odd,
    WireColumns,
    fields_of,
    is_null,
    is_wrapped,
    member,
    text_of,
    undeclared,
)
from lakehouse.formats.changes.special_values.encoding import images_of
from lakehouse.formats.changes.times import micros_of_millis
from lakehouse.formats.json.record_parser import RecordParser
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_OPERATIONS = {"c": INSERT, "u": UPDATE, "d": DELETE, "r": READ, "t": TRUNCATE, "m": CONTROL}
_CODES = np.array([*_OPERATIONS.values(), CONTROL], np.int8)
_UNKNOWN_OPERATION = RecordError("unknown_operation", "`op` is none of c, u, d, r, t, m")


_OF_ROWS = frozenset(_OPERATIONS) - {"m"}


class _After(msgspec.Struct):
    after: dict[str, msgspec.Raw] | None = None


_AFTER = RecordParser(_After)


class DebeziumForm(Form):
    """Debezium's messages of one table."""

    def __init__(self, table: ChangeTable, options: Debezium, encoding: Encoding) -> None:
        """Prepares.

        Raises:
            UndecodableType: a column's type has no form in these messages.
        """
        images = images_of(table, encoding)
        models = Models(images, options.ignored)
        self.wire, self.blank = models.wire, models.blank
        self._bare, self._wrapped = RecordParser(models.strict), RecordParser(models.wrapped)
        self._lenient, self._envelope = RecordParser(models.lenient), models.strict
        self._known = frozenset((*images.names, *options.ignored))
        self._not_numbers = NotNumbers(images)
        self._names = Names(table)

    def parse_all(self, values: pa.BinaryArray) -> list[Any] | None:
        """All as envelopes; all bare, or all beside their schema."""
        if len(values) and values[0].as_py().startswith(b'{"schema"'):
            wrapped = self._wrapped.parse_all(values)
            return None if wrapped is None else [record.payload or self.blank for record in wrapped]
        return self._bare.parse_all(values)

    def parse(self, value: bytes) -> Any | RecordError:
        """One as an envelope, whether bare or beside its schema."""
        if value.startswith(b'{"schema"'):
            wrapped: Any = self._wrapped.parse(value)
            return wrapped if isinstance(wrapped, RecordError) else wrapped.payload or self.blank
        return self._bare.parse(value)

    def silent(self, records: Sequence[Any]) -> list[int]:
        """Those without an operation: control records, and what stands beside its schema among others that do not."""
        return [row for row, record in enumerate(records) if record.op is None]

    def odd(self, value: bytes) -> Odd | RecordError:
        """Control records, columns that nobody declared, and what cannot be read."""
        return self._more_columns(value) or self._any(value)

    def _more_columns(self, value: bytes) -> Odd | None:
        """A bare change that has columns which nobody declared: the least odd, and a whole topic may be so."""
        record: Any = self._lenient.parse(value)
        if isinstance(record, RecordError) or record.op not in _OF_ROWS or record.source is None:
            return None
        source = record.source
        if source.connector not in CONNECTORS or not self._names.takes(_full_name(source)):
            return None
        after: Any = _AFTER.parse(value)
        return Odd(record, extra=undeclared(after.after, self._known) if after.after else None)

    def _any(self, value: bytes) -> Odd | RecordError:
        fields = fields_of(value)
        if isinstance(fields, RecordError):
            return fields
        if is_wrapped(fields):
            value = bytes(fields["payload"])
            fields = fields_of(value)
            if isinstance(fields, RecordError):
                return fields
        if is_null(fields, "op"):
            return self._without_operation(fields)
        return self._change(value, fields)

    def _without_operation(self, fields: Fields) -> Odd | RecordError:
        record = control.recognize(fields)
        if record is None:
            return RecordError("unknown_operation", "`op` is missing, and it is no control record that we know")
        source = Source(ts_ms=record.ts_ms, db=record.db, schema=record.schema, table=record.table)
        return Odd(self._envelope(source=source, transaction=Transaction(record.transaction)), control=True)

    def _change(self, value: bytes, fields: Fields) -> Odd | RecordError:
        operation = text_of(fields, "op")
        if operation not in _OPERATIONS:
            return _UNKNOWN_OPERATION
        source = member(fields, "source") or {}
        if operation == "m":
            return self._message(fields, source)
        if (error := self._refused(source)) is not None:
            return error
        record: Any = self._lenient.parse(value)
        if isinstance(record, RecordError):
            rest, non_finite = self._not_numbers.without(fields)
            record = self._lenient.parse(rest) if non_finite else record
            if isinstance(record, RecordError):
                return record
            put(record, non_finite)
        after = member(fields, "after")
        return Odd(record, extra=undeclared(after, self._known) if after else None)

    def _message(self, fields: Fields, source: Fields) -> Odd:
        """A logical message, whose content is none of ours."""
        record = control.read_record(fields, source)
        known = Source(ts_ms=record.ts_ms, db=record.db, schema=record.schema, table=record.table)
        return Odd(self._envelope(source=known, transaction=Transaction(record.transaction)), control=True)

    def _refused(self, source: Fields) -> RecordError | None:
        """Why a change cannot be taken whatever its images are."""
        connector = text_of(source, "connector")
        named = Source(db=text_of(source, "db"), schema=text_of(source, "schema"), table=text_of(source, "table"))
        if not self._names.takes(_full_name(named)):
            return self._names.error
        return None if connector in CONNECTORS else unknown_connector(connector)

    def image(self, value: bytes, name: str) -> Fields:
        """The fields of `before` or `after`."""
        fields = fields_of(value)
        assert not isinstance(fields, RecordError)
        return member((member(fields, "payload") or {}) if is_wrapped(fields) else fields, name) or {}

    def without_images(self, fields: Fields) -> Fields:
        """The operation and the source."""
        payload = (member(fields, "payload") or {}) if is_wrapped(fields) else fields
        return {name: payload[name] for name in ("op", "source") if name in payload}

    def facts(self, read: WireColumns, offsets: pa.Int64Array | None) -> Facts:
        """What the envelopes say."""
        del offsets
        op, before, after, source, transaction = read.columns
        errors = dict(read.errors)
        operation, ours = self._operation(op, read, errors)
        part = {field.name: source.field(i) for i, field in enumerate(source.type)}
        schemas = pc.coalesce(part["schema"], part["db"]) if part["schema"].null_count else part["schema"]
        names = joined(schemas, part["table"])
        data = ours & (operation != CONTROL)
        report(errors, np.flatnonzero(data & ~self._names.taken(names)), self._names.error)
        positions = places(part, operation, data, errors)
        txid = part["txId"].cast(pa.string()) if part["txId"].null_count < len(op) else part["gtid"]
        return Facts(
            operation=operation,
            before=before,
            after=after,
            places=positions,
            source=names,
            transaction_id=pc.coalesce(_shared(transaction.field(0)), txid, part["gtid"]),
            source_time=_source_time(part["ts_us"], part["ts_ms"]),
            extra=read.extra,
            errors=errors,
        )

    def _operation(self, op: pa.StringArray, read: WireColumns, errors: Errors) -> tuple[np.ndarray, Bools]:
        """Numbers of operations, and which rows are envelopes."""
        codes = pc.index_in(op, value_set=pa.array(list(_OPERATIONS)))
        ours = np.ones(len(op), np.bool_)
        for rows in (read.tombstones, read.controls, list(errors)):
            ours[rows] = False
        unknown = bools(codes.is_null()) & ours
        report(errors, np.flatnonzero(unknown), _UNKNOWN_OPERATION)
        operation = _CODES[codes.fill_null(len(_OPERATIONS)).to_numpy()]
        operation[read.tombstones] = TOMBSTONE
        operation[read.controls] = CONTROL
        return operation, ours & ~unknown


def _shared(identity: pa.StringArray) -> pa.StringArray:
    """What all messages of a transaction have in common: PostgreSQL's `txId:lsn` ends with each message's own LSN."""
    if identity.null_count == len(identity):
        return identity
    return pc.replace_substring_regex(identity, r"^(\d+):\d+$", r"\1")


def _full_name(source: Source) -> str | None:
    schema = source.db if source.schema is None else source.schema
    return None if schema is None or source.table is None else f"{schema}.{source.table}"


def _source_time(micros: pa.Int64Array, millis: pa.Int64Array) -> pa.Int64Array:
    """The source's own time, as finely as it is told."""
    return pc.coalesce(micros, micros_of_millis(millis)) if micros.null_count else micros
