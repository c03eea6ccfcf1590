"""Protobuf records to the columns of one table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from lakehouse.formats.decoded import Decoded, Observed, SchemaId
from lakehouse.formats.framed_records import GroupedColumns, decode_framed, unknown_schema
from lakehouse.formats.frames import WriterSchemas
from lakehouse.formats.frames.framed import Framed, SchemaGroup
from lakehouse.formats.frames.glue import PREFIX
from lakehouse.formats.json.wire import small_types
from lakehouse.formats.protobuf.columns import MessageMatch, match_message
from lakehouse.formats.protobuf.message_indexes import confluent_indexes, glue_rank
from lakehouse.formats.protobuf.message_types import MessageTypes
from lakehouse.formats.protobuf.part import Part
from lakehouse.formats.protobuf.unknown_fields import SAMPLE, unknown_fields
from lakehouse.formats.schema_errors import SchemaUnusable, Unfit
from lakehouse.formats.verdict import RecordError

_NO_INDEX = RecordError("no_schema_id", "behind the schema id it is not said which message of the schema this is")
_Which = tuple[int, ...] | int | None
"""Confluent's indexes, Glue's rank, or none where the stream names the type."""


@dataclass(frozen=True)
class _Reader:
    kind: type[Message]
    insists: bool
    match: MessageMatch


class ProtobufDecoder:
    """Decodes messages against one table's schema, each by the type that it is of.

    The library parses each message by itself, so a damaged one harms no other, and the columns are made of all messages
    of a type together. The decoder is cheap to pickle: only schemas travel.
    """

    def __init__(
        self,
        schema: pa.Schema,
        schemas: WriterSchemas,
        aliases: Mapping[str, str] | None = None,
        message: str = "",
    ) -> None:
        """Prepares for a table.

        Args:
            schema: The columns. Large strings and lists become small ones.
            schemas: Of the writers, compiled.
            aliases: Column → what messages call it, where that is not its name.
            message: Full name of the type, where records do not say which they are of; without one it is the only one.
        """
        self.schema = small_types(schema)
        self._schemas, self._aliases, self._message = schemas, dict(aliases or {}), message
        self._types: dict[SchemaId, MessageTypes] = {}
        self._readers: dict[tuple[SchemaId, _Which], _Reader | RecordError] = {}

    def __reduce__(self) -> tuple[type["ProtobufDecoder"], tuple[pa.Schema, WriterSchemas, dict[str, str], str]]:
        return ProtobufDecoder, (self.schema, self._schemas, self._aliases, self._message)

    def decode(self, values: pa.BinaryArray | pa.LargeBinaryArray, headers: pa.StringArray | None = None) -> Decoded:
        """Decodes every value to a row or an error."""
        return decode_framed(self.schema, self._schemas, values, headers, self._piece)

    def _piece(self, framed: Framed, observed: Observed) -> tuple[pa.RecordBatch, dict[int, RecordError]]:
        errors = dict(framed.errors)
        columns = GroupedColumns(self.schema, len(framed.values))
        for group in framed.groups:
            if self._schemas.named:
                observed.schemas[str(group.schema)] += len(group.rows)
            for which, (rows, records) in self._by_message(group, framed.values, errors).items():
                reader = self._reader(group.schema, which)
                if isinstance(reader, _Reader):
                    columns.add(np.array(rows), _read(reader, rows, records, errors, observed))
                else:
                    if reader is None:
                        reader = unknown_schema(group.schema, observed)
                    errors.update(dict.fromkeys(rows, reader))
        return columns.batch(), errors

    def _by_message(
        self, group: SchemaGroup, values: pa.BinaryArray, errors: dict[int, RecordError]
    ) -> dict[_Which, tuple[list[int], list[bytes]]]:
        """The records of a schema by which of its messages they are, each without what stands in front."""
        records: list[bytes] = values.take(pa.array(group.rows)).to_pylist()
        rows: list[int] = group.rows.tolist()
        if not self._schemas.named:
            return {None: (rows, records)}
        if group.suffix is not None:
            of_header = confluent_indexes(group.suffix)
            if of_header is None or of_header[1] != len(group.suffix):
                errors.update(dict.fromkeys(rows, _NO_INDEX))
                return {}
            return {of_header[0]: (rows, records)}
        index: Any = glue_rank if str(group.schema).startswith(PREFIX) else confluent_indexes
        by_message: dict[_Which, tuple[list[int], list[bytes]]] = {}
        for row, record in zip(rows, records, strict=True):
            named = index(record, group.skip)
            if named is None:
                errors[row] = _NO_INDEX
                continue
            of_message = by_message.setdefault(named[0], ([], []))
            of_message[0].append(row)
            of_message[1].append(record[named[1] :])
        return by_message

    def _reader(self, schema: SchemaId, which: _Which) -> _Reader | RecordError | None:
        if (schema, which) not in self._readers:
            writer = self._schemas.schema(schema)
            if writer is None:
                return None
            self._readers[schema, which] = (
                writer if isinstance(writer, RecordError) else self._matched(schema, which, writer.compiled)
            )
        return self._readers[schema, which]

    def _matched(self, schema: SchemaId, which: _Which, compiled: bytes) -> _Reader | RecordError:
        try:
            if schema not in self._types:
                self._types[schema] = MessageTypes(compiled)
            kind = _type(self._types[schema], which, self._message)
            match = match_message(kind, list(self.schema), self._aliases)
        except Unfit as refusal:
            return refusal.error
        except SchemaUnusable as refusal:
            which_schema = f"schema {schema}" if self._schemas.named else "the schema"
            return RecordError("schema_unusable", f"{which_schema}: {refusal.message}")
        return _Reader(GetMessageClass(kind), _insists(kind, set()), match)


def _type(types: MessageTypes, which: _Which, name: str) -> Descriptor:
    if which is None:
        return types.named(name)
    kind = types.by_rank(which) if isinstance(which, int) else types.by_indexes(which)
    if kind is None:
        raise SchemaUnusable(f"it has no message {which}", remedy="see which schema the sender registered.")
    return kind


def _insists(kind: Descriptor, seen: set[str]) -> bool:
    """Whether a message of the type can lack a field that proto2 requires."""
    if kind.full_name in seen:
        return False
    seen.add(kind.full_name)
    return any(
        field.is_required or (field.message_type is not None and _insists(field.message_type, seen))
        for field in kind.fields
    )


def _read(
    reader: _Reader, rows: Sequence[int], records: Sequence[bytes], errors: dict[int, RecordError], observed: Observed
) -> list[pa.Array]:
    messages, refused = _parsed(reader, rows, records)
    observed.extra.update(dict.fromkeys(reader.match.extra, len(rows)))
    sound = [message for row, message in zip(rows[:SAMPLE], messages, strict=False) if row not in refused]
    observed.extra.update(unknown_fields(sound))
    arrays = reader.match.read(messages, Part(rows, refused))
    errors.update(refused)
    return arrays


def _parsed(
    reader: _Reader, rows: Sequence[int], records: Sequence[bytes]
) -> tuple[list[Message], dict[int, RecordError]]:
    """The messages, with an empty one in the place of each that is none."""
    refused: dict[int, RecordError] = {}
    parse = reader.kind.FromString
    try:
        messages = list(map(parse, records))
    except DecodeError:
        messages = []
        for row, record in zip(rows, records, strict=True):
            try:
                messages.append(parse(record))
            except DecodeError:
                refused[row] = RecordError("not_protobuf", f"the bytes are no {reader.kind.DESCRIPTOR.full_name}")
                messages.append(reader.kind())
    if reader.insists:
        for row, message in zip(rows, messages, strict=True):
            if row not in refused and not message.IsInitialized():
                names: list[str] = message.FindInitializationErrors()  # pyright: ignore[reportAttributeAccessIssue]
                missing = ", ".join(f"`{name}`" for name in names[:5])
                refused[row] = RecordError("missing_field", f"{missing}: required, but missing")
    return messages, refused
