"""Avro records to the columns of one table."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from lakehouse.formats.avro.columns import Match, match_record
from lakehouse.formats.avro.cursor import Batch, Cursor
from lakehouse.formats.avro.nodes import parse_writer_schema
from lakehouse.formats.decoded import Decoded, Observed, SchemaId
from lakehouse.formats.framed_records import GroupedColumns, decode_framed, unknown_schema
from lakehouse.formats.frames import WriterSchema, WriterSchemas
from lakehouse.formats.frames.framed import Framed
from lakehouse.formats.json.wire import small_types
from lakehouse.formats.schema_errors import SchemaUnusable, Unfit
from lakehouse.formats.verdict import RecordError

_LEFT_OVER = RecordError("not_avro", "bytes are left over: the record was written with another schema")


class AvroDecoder:
    """Decodes records against one table's schema, each by the schema that it was written with.

    A record must end where its schema ends: readers that pass over what is left take a record of another schema for one
    of theirs. The decoder is cheap to pickle: only schemas travel.
    """

    def __init__(
        self,
        schema: pa.Schema,
        schemas: WriterSchemas,
        aliases: Mapping[str, str] | None = None,
        reader: str | None = None,
    ) -> None:
        """Prepares for a table.

        Args:
            schema: The columns. Large strings and lists become small ones.
            schemas: Of the writers.
            aliases: Column → what records call it, where that is not its name.
            reader: A schema whose defaults and aliases count where a writer's lacks fields.

        Raises:
            SchemaUnusable: The reader's schema is none.
        """
        self.schema = small_types(schema)
        self._schemas, self._aliases, self._reader_text = schemas, dict(aliases or {}), reader
        self._reader = parse_writer_schema(reader) if reader is not None else None
        self._matches: dict[SchemaId, Match | RecordError] = {}

    def __reduce__(
        self,
    ) -> tuple[type["AvroDecoder"], tuple[pa.Schema, WriterSchemas, dict[str, str], str | None]]:
        return AvroDecoder, (self.schema, self._schemas, self._aliases, self._reader_text)

    def decode(self, values: pa.BinaryArray | pa.LargeBinaryArray, headers: pa.StringArray | None = None) -> Decoded:
        """Decodes every value to a row or an error."""
        return decode_framed(self.schema, self._schemas, values, headers, self._piece)

    def _piece(self, framed: Framed, observed: Observed) -> tuple[pa.RecordBatch, dict[int, RecordError]]:
        batch = Batch(framed.values)
        batch.refuse(framed.errors)
        columns = GroupedColumns(self.schema, len(framed.values))
        for group in framed.groups:
            cursor = batch.cursor(group.rows, group.skip)
            arrays = self._read(group.schema, cursor, observed)
            if arrays is not None:
                columns.add(group.rows, arrays)
        return columns.batch(), batch.errors

    def _read(self, schema: SchemaId, cursor: Cursor, observed: Observed) -> Sequence[pa.Array] | None:
        """The columns of records of one schema; nothing where none of them can be read."""
        if self._schemas.named:
            observed.schemas[str(schema)] += len(cursor)
        match = self._match(schema)
        if not isinstance(match, Match):
            if match is None:
                match = unknown_schema(schema, observed)
            cursor.fail(np.arange(len(cursor)), match)
            return None
        for path in match.extra:
            observed.extra[path] += len(cursor)
        arrays = match.read(cursor)
        left_over = np.flatnonzero((cursor.position < cursor.end) & cursor.alive)
        if left_over.size:
            cursor.fail(left_over, _LEFT_OVER)
        return arrays

    def _match(self, schema: SchemaId) -> Match | RecordError | None:
        if schema not in self._matches:
            writer = self._schemas.schema(schema)
            if writer is None:
                return None
            self._matches[schema] = writer if isinstance(writer, RecordError) else self._matched(schema, writer)
        return self._matches[schema]

    def _matched(self, schema: SchemaId, writer: WriterSchema) -> Match | RecordError:
        try:
            return match_record(parse_writer_schema(*writer.texts), list(self.schema), self._aliases, self._reader)
        except Unfit as refusal:
            return refusal.error
        except SchemaUnusable as refusal:
            which = f"schema {schema}" if self._schemas.named else "the schema"
            return RecordError("schema_unusable", f"{which}: {refusal.message}")
