"""A stream's change messages to rows of its changelogs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from lakehouse.declarations.formats.change_format import ChangeFormat, Debezium, Dms, Flat
from lakehouse.formats.changes.debezium.connect_schema import MessageSchema, row_schema
from lakehouse.formats.changes.debezium.envelope import DebeziumForm
from lakehouse.formats.changes.debezium.message_schemas import MessageSchemas
from lakehouse.formats.changes.debezium.schema_encoding import beside
from lakehouse.formats.changes.dms.messages import DmsForm
from lakehouse.formats.changes.dms.values import DmsEncoding
from lakehouse.formats.changes.encodings import DebeziumEncoding, Encoding, PlainEncoding
from lakehouse.formats.changes.facts import ChangeTable, Errors
from lakehouse.formats.changes.flat_records.flat import FlatForm
from lakehouse.formats.changes.plain_keys import key_as_object, keys_as_objects
from lakehouse.formats.changes.reading import Form
from lakehouse.formats.changes.refused import RefusedKeys, refused_keys, refused_positions
from lakehouse.formats.changes.routing import NOBODY, Router
from lakehouse.formats.changes.rows import Messages, RowBuilder
from lakehouse.formats.json.pieces import no_garbage_collection
from lakehouse.formats.json.routed import Routed, RoutedRows
from lakehouse.formats.json.wire import small_types
from lakehouse.formats.source_names import QuotedNames, parser_name
from lakehouse.formats.verdict import RecordError

_MOST_READERS = 64
_NOTHING = RecordError("tombstone", "the record has neither value nor key")


@dataclass(frozen=True)
class _Reader:
    """How messages of one changelog are read; of a table without a key, a tombstone has none either."""

    form: Form
    rows: RowBuilder
    keyed: bool


class ChangeDecoder:
    """Decodes change messages: each becomes one row of one changelog, or has an error.

    Whole batches are parsed and normalised column by column; only a message that is not as declared (a column that
    nobody knows, a control record) is looked at alone. What comes of a message depends on nothing but the message.

    The decoder is cheap to pickle: only schemas travel.
    """

    def __init__(self, form: ChangeFormat, tables: Mapping[str, ChangeTable]) -> None:
        """Prepares.

        Args:
            form: how the messages are written.
            tables: changelog → its columns and source tables. The first takes what belongs to nobody: control records.

        Raises:
            UndecodableType: A column's type has no form in these messages.
        """
        self._declared = form
        self._format = _by_parser_names(form)
        aliases = [alias for table in tables.values() for alias in table.aliases.values()]
        self._quoted = QuotedNames([*aliases, *form.ignored])
        self._tables = {name: replace(table, schema=small_types(table.schema)) for name, table in tables.items()}
        self._schemas = MessageSchemas(row_schema) if isinstance(form, Debezium) else None
        self._readers = lru_cache(maxsize=_MOST_READERS)(self._reader)
        for name in self._tables:
            self._readers(name, ())
        self._router = Router(form, self._tables)
        plain = isinstance(form, Flat) and form.plain_key
        self._plain_key = next(iter(self._tables.values())).source_key.field(0) if plain else None

    def __reduce__(self) -> tuple[type["ChangeDecoder"], tuple[ChangeFormat, dict[str, ChangeTable]]]:
        return ChangeDecoder, (self._declared, self._tables)

    def decode(
        self,
        values: pa.BinaryArray,
        keys: pa.BinaryArray | None = None,
        headers: pa.StringArray | None = None,
        offsets: pa.Int64Array | None = None,
    ) -> Routed:
        """Decodes messages.

        Args:
            values: Kafka's values.
            keys: Kafka's keys, which tell what a tombstone deletes.
            headers: Kafka's headers, as JSON of a list of `{"key", "value"}` with values in Base64, or null.
            offsets: Kafka's offsets, for flat records without a position of their own.

        Returns:
            Rows by changelog, and errors.
        """
        parts: dict[str, RoutedRows] = {}
        errors: Errors = {}
        if not len(values):
            return Routed(parts, errors)
        values = self._quoted.hide(values)
        if self._plain_key is not None and keys is not None:
            keys = keys_as_objects(keys, self._plain_key)
        with no_garbage_collection():
            for name, rows in self._router.groups(values, keys).items():
                if name == NOBODY:
                    errors.update(dict.fromkeys(rows.tolist(), self._router.error))
                    continue
                part = self._part(name, rows, (values, keys, headers, offsets), errors)
                if len(part.rows):
                    parts[name] = part
        return Routed(parts, self._quoted.shown(errors))

    def refused(
        self, name: str, values: Sequence[bytes | None], keys: Sequence[bytes | None], offsets: Sequence[int]
    ) -> RefusedKeys:
        """Of messages that were refused, those that may be about rows of a changelog, their keys and positions.

        Args:
            name: the changelog.
            values: Kafka's values.
            keys: Kafka's keys.
            offsets: Kafka's offsets.
        """
        reader = self._readers(name, ())
        values = [self._quoted.hidden(value) for value in values]
        if self._plain_key is not None:
            keys = [key_as_object(key, self._plain_key) for key in keys]
        refused = refused_keys(self._router, reader.form, reader.rows.key_reader, name, values, keys)
        own_values, own_offsets = [values[row] for row in refused.rows], [offsets[row] for row in refused.rows]
        positions = refused_positions(reader.form, own_values, own_offsets)
        return replace(refused, positions=[place and (self._format.epoch, *place) for place in positions])

    def _part(self, name: str, rows: np.ndarray, columns: tuple[Any, ...], errors: Errors) -> RoutedRows:
        if len(rows) < len(columns[0]):
            columns = _rows_of(columns, rows)
        alike = {(): np.arange(len(rows))}
        schemas = alike if self._schemas is None else self._schemas.groups(columns[0])
        if len(schemas) == 1:
            return self._alike(self._readers(name, next(iter(schemas))), rows, columns, errors)
        parts = [
            self._alike(self._readers(name, schema), rows[indices], _rows_of(columns, indices), errors)
            for schema, indices in schemas.items()
        ]
        numbers = np.concatenate([part.rows for part in parts])
        order = np.argsort(numbers)
        return RoutedRows(numbers[order], pa.concat_batches([part.batch for part in parts]).take(pa.array(order)))

    def _reader(self, name: str, schema: MessageSchema) -> _Reader:
        """How messages of one changelog with this schema are read."""
        table, encoding = self._tables[name], beside(schema, _encoding(self._format))
        return _Reader(
            _form(self._format, table, encoding), RowBuilder(table, encoding, self._format.epoch), bool(table.key)
        )

    def _alike(self, reader: _Reader, rows: np.ndarray, columns: tuple[Any, ...], errors: Errors) -> RoutedRows:
        """Messages that are written in one way."""
        values, keys, headers, offsets = columns
        read = reader.form.read(values)
        read.extra = self._quoted.shown_json(read.extra)
        nothing = [row for row in read.tombstones if reader.keyed and (keys is None or not keys[row].is_valid)]
        if isinstance(self._format, Debezium):
            # It follows each delete of a source table without a key, and says nothing of any row.
            read.tombstones[:] = sorted(set(read.tombstones).difference(nothing))
            read.controls.extend(nothing)
        else:
            read.errors.update(dict.fromkeys(nothing, _NOTHING))
        facts = reader.form.facts(read, offsets)
        batch, broken = reader.rows.build(facts, Messages(values, keys, headers, reader.form.image))
        if not broken:
            return RoutedRows(rows, batch)
        errors.update((int(rows[row]), error) for row, error in broken.items())
        good = np.delete(np.arange(len(rows)), list(broken))
        return RoutedRows(rows[good], batch.take(pa.array(good)))


def _by_parser_names(form: ChangeFormat) -> ChangeFormat:
    form = replace(form, ignored=tuple(map(parser_name, form.ignored)))
    return replace(form, millis=tuple(map(parser_name, form.millis))) if isinstance(form, Debezium) else form


def _rows_of(columns: tuple[Any, ...], rows: np.ndarray) -> tuple[Any, ...]:
    return tuple(None if column is None else column.take(pa.array(rows)) for column in columns)


def _form(form: ChangeFormat, table: ChangeTable, encoding: Encoding) -> Form:
    if isinstance(form, Debezium):
        return DebeziumForm(table, form, encoding)
    return DmsForm(table, form) if isinstance(form, Dms) else FlatForm(table, form)


def _encoding(form: ChangeFormat) -> Encoding:
    if isinstance(form, Debezium):
        return DebeziumEncoding(form)
    return DmsEncoding() if isinstance(form, Dms) else PlainEncoding(form.unavailable)
