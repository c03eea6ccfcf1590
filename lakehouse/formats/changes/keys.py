"""Keys that stand beside a message: in the Kafka key, and in Debezium's headers of a change of key."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.changes.debezium.connect_schema import MessageSchema, key_schema, schema_beside
from lakehouse.formats.changes.debezium.message_schemas import MessageSchemas
from lakehouse.formats.changes.debezium.schema_encoding import beside
from lakehouse.formats.changes.encodings import Encoding
from lakehouse.formats.changes.facts import DELETE, INSERT, ChangeTable, Errors, rows_where
from lakehouse.formats.changes.reading import Fields, fields_of, is_null, is_wrapped, member, text_of
from lakehouse.formats.changes.row_images import Images
from lakehouse.formats.headers import read_headers
from lakehouse.formats.json.columns import wire_columns
from lakehouse.formats.json.model import record_model
from lakehouse.formats.json.record_parser import RecordParser
from lakehouse.formats.source_names import QuotedNames
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

# Which table's row a key is of, where Debezium's topic router puts several tables into one topic.
_ROUTED_TABLE = "__dbz__physicalTableIdentifier"
_READERS = 16
_NEW_KEY, _OLD_KEY = "__debezium.newkey", "__debezium.oldkey"


@dataclass(frozen=True)
class Keys:
    """Some keys: their columns, a row for each, and why a key cannot be read."""

    columns: list[pa.Array]
    errors: Errors = field(default_factory=dict[int, RecordError])


class _OneSchema:
    """Reads keys beside one schema, or without any."""

    def __init__(self, images: Images) -> None:
        self._images = images
        self._wire = pa.schema(images.fields)
        model = record_model(self._wire)
        self._blank = model()
        self._parser = RecordParser(model)

    def read(self, payloads: Sequence[bytes]) -> Keys:
        """Every key as a row or an error."""
        errors: Errors = {}
        records: list[Any] = []
        for row, payload in enumerate(payloads):
            record = self._parser.parse(payload)
            if isinstance(record, RecordError):
                errors[row] = RecordError(record.error_class, f"the Kafka key, {record.message}")
            records.append(self._blank if isinstance(record, RecordError) else record)
        columns = wire_columns(records, self._wire)
        wire = pa.StructArray.from_arrays(
            columns, fields=[pa.field(f.name, c.type) for f, c in zip(self._wire, columns, strict=True)]
        )
        image = self._images.read(wire, "key")
        return Keys(image.columns, {**image.errors, **errors})


class KeyReader:
    """Reads JSON keys of one changelog, bare or beside their schema, which then says how their values are written."""

    def __init__(self, table: ChangeTable, encoding: Encoding) -> None:
        self._kind = table.source_key
        self._names = [field.name for field in self._kind]
        self._quoted = QuotedNames(table.aliases.values())
        self._nulls = table.null_keys == "equal"
        self._encoding = encoding
        self._schemas = MessageSchemas(key_schema)
        self._readers = lru_cache(maxsize=_READERS)(self._reader)

    @property
    def written_names(self) -> dict[str, str]:
        """The key's columns as the parser calls them → as they are written in a key."""
        return {name: self._quoted.written(name) for name in self._names}

    def read(self, keys: Sequence[bytes | None]) -> Keys:
        """Every key as a row or an error."""
        refused: Errors = {}
        groups: dict[MessageSchema, list[int]] = {} if len(keys) else {(): []}
        payloads: list[bytes] = []
        for row, key in enumerate(keys):
            opened = self._opened(self._quoted.hidden(key))
            if isinstance(opened, RecordError):
                refused[row] = opened
                opened = ((), b"{}")
            schema, payload = opened
            groups.setdefault(schema, []).append(row)
            payloads.append(payload)
        parts = [(rows, self._readers(schema).read([payloads[row] for row in rows])) for schema, rows in groups.items()]
        errors = {rows[number]: error for rows, part in parts for number, error in part.errors.items()}
        columns = [pa.concat_arrays(several) for several in zip(*(part.columns for _, part in parts), strict=True)]
        if len(groups) > 1:
            order = pa.array(np.argsort(np.concatenate([np.array(rows, np.int64) for rows, _ in parts])))
            columns = [column.take(order) for column in columns]
        return Keys(columns, {**errors, **refused})

    def _reader(self, schema: MessageSchema) -> _OneSchema:
        return _OneSchema(Images(self._kind, beside(schema, self._encoding)))

    def _opened(self, key: bytes | None) -> tuple[MessageSchema, bytes] | RecordError:
        """The schema beside a key, and the key itself."""
        if key is None:
            return RecordError("missing_key", f"neither the message nor a Kafka key tells {self._key_names}")
        fields = fields_of(key)
        raw = schema_beside(fields)
        if not isinstance(fields, RecordError) and raw is not None:
            key = bytes(fields["payload"])
            fields = fields_of(key)
        if isinstance(fields, RecordError):
            return RecordError("missing_key", f"the Kafka key is no JSON object with {self._key_names}")
        return self._refused(fields) or (() if raw is None else self._schemas.of(raw), key)

    def _refused(self, fields: Fields) -> RecordError | None:
        missing = [name for name in self._names if name not in fields]
        if missing:
            return RecordError("missing_key", f"the Kafka key lacks `{missing[0]}`")
        nulls = [name for name in self._names if is_null(fields, name)]
        if nulls and not self._nulls:
            return RecordError("null_in_key", f"`key.{nulls[0]}` is null")
        return None

    @property
    def _key_names(self) -> str:
        return ", ".join(f"`{name}`" for name in self._names)


def table_of_key(key: bytes | None) -> str | None:
    """The source table that a Kafka key names, such as `prefix.schema.table`; often it names none."""
    fields = None if key is None else fields_of(key)
    if fields is None or isinstance(fields, RecordError):
        return None
    routed = text_of(_payload(fields), _ROUTED_TABLE)
    if routed is not None:
        return routed
    schema = member(fields, "schema") if is_wrapped(fields) else None
    name = text_of(schema, "name") if schema else None
    return name.removesuffix(".Key") if name and name.endswith(".Key") else None


def _payload(fields: Fields) -> Fields:
    return (member(fields, "payload") or {}) if is_wrapped(fields) else fields


def key_headers(headers: pa.StringArray | None, operation: np.ndarray) -> dict[int, bytes]:
    """Row → the key on the other side of a change of key: the new one of a delete, the old one of an insert."""
    if headers is None or headers.null_count == len(headers):
        return {}
    wanted = {DELETE: _NEW_KEY, INSERT: _OLD_KEY}
    rows = np.flatnonzero(np.isin(operation, list(wanted)))
    # Every message has headers that begin like these.
    matching = rows_where(pc.match_substring_regex(headers.take(pa.array(rows)), r"__debezium\.(?:new|old)key"))
    keys: dict[int, bytes] = {}
    for row in rows[matching].tolist():
        for header in read_headers(headers[row].as_py()):
            if header.key == wanted[int(operation[row])] and header.value is not None:
                keys[row] = header.value
    return keys
