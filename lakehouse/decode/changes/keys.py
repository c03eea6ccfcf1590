"""Keys that stand beside a message: in the Kafka key, and in Debezium's headers of a change of key."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.decode.changes.facts import DELETE, INSERT, ChangeTable, Errors, rows_where
from lakehouse.decode.changes.images import Images
from lakehouse.decode.changes.reading import Fields, fields_of, is_null, is_wrapped, member, text_of
from lakehouse.decode.columns import wire_columns
from lakehouse.decode.model import record_model
from lakehouse.decode.parser import RecordParser
from lakehouse.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

# Which table's row a key is of, where Debezium's topic router puts several tables into one topic.
_ROUTED_TABLE = "__dbz__physicalTableIdentifier"
_NEW_KEY, _OLD_KEY = "__debezium.newkey", "__debezium.oldkey"


class Header(msgspec.Struct):
    """As Spark renders one: Base64 for the value, and no field for a value that is null."""

    key: str
    value: bytes | None = None


def read_headers(text: str) -> list[Header]:
    """The headers of one record, from the JSON in which they travel."""
    return msgspec.json.decode(text, type=list[Header])


@dataclass(frozen=True)
class Keys:
    """Some keys: their columns, a row for each, and why a key cannot be read."""

    columns: list[pa.Array]
    errors: Errors = field(default_factory=dict[int, RecordError])


class KeyReader:
    """Reads JSON keys of one changelog, bare or beside their schema."""

    def __init__(self, table: ChangeTable, images: Images) -> None:
        self._names = images.names
        self._nulls = table.null_keys == "equal"
        self._images = images
        self._wire = pa.schema(images.fields)
        model = record_model(self._wire)
        self._blank = model()
        self._parser = RecordParser(model)

    def read(self, keys: Sequence[bytes | None]) -> Keys:
        """Every key as a row or an error."""
        errors: Errors = {}
        records: list[Any] = []
        for row, key in enumerate(keys):
            record = self._record(key)
            if isinstance(record, RecordError):
                errors[row] = record
                record = self._blank
            records.append(record)
        columns = wire_columns(records, self._wire)
        wire = pa.StructArray.from_arrays(
            columns, fields=[pa.field(f.name, c.type) for f, c in zip(self._wire, columns, strict=True)]
        )
        image = self._images.read(wire, "key")
        return Keys(image.columns, {**image.errors, **errors})

    def _record(self, key: bytes | None) -> Any | RecordError:
        if key is None:
            return RecordError("missing_key", f"neither the message nor a Kafka key tells {self._told}")
        fields = fields_of(key)
        if not isinstance(fields, RecordError) and is_wrapped(fields):
            key = bytes(fields["payload"])
            fields = fields_of(key)
        if isinstance(fields, RecordError):
            return RecordError("missing_key", f"the Kafka key is no JSON object with {self._told}")
        refused = self._refused(fields)
        record = refused or self._parser.parse(key)
        if isinstance(record, RecordError) and not refused:
            return RecordError(record.error_class, f"the Kafka key, {record.message}")
        return record

    def _refused(self, fields: Fields) -> RecordError | None:
        missing = [name for name in self._names if name not in fields]
        if missing:
            return RecordError("missing_key", f"the Kafka key lacks `{missing[0]}`")
        nulls = [name for name in self._names if is_null(fields, name)]
        if nulls and not self._nulls:
            return RecordError("null_in_key", f"`key.{nulls[0]}` is null")
        return None

    @property
    def _told(self) -> str:
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
    told = rows_where(pc.match_substring_regex(headers.take(pa.array(rows)), r"__debezium\.(?:new|old)key"))
    found: dict[int, bytes] = {}
    for row in rows[told].tolist():
        for header in read_headers(headers[row].as_py()):
            if header.key == wanted[int(operation[row])] and header.value is not None:
                found[row] = header.value
    return found
