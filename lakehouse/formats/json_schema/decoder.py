"""JSON records to the columns of one table, each as far as it is valid against its schema."""

from collections.abc import Mapping

import pyarrow as pa

from lakehouse.formats.decoded import Decoded, Observed, SchemaId
from lakehouse.formats.framed_records import GroupedColumns, decode_framed, unknown_schema
from lakehouse.formats.frames import WriterSchema, WriterSchemas
from lakehouse.formats.frames.framed import Framed, SchemaGroup
from lakehouse.formats.json import JsonDecoder
from lakehouse.formats.json_schema.validator import JsonSchemaValidator
from lakehouse.formats.schema_errors import SchemaUnusable
from lakehouse.formats.verdict import RecordError


class JsonSchemaDecoder:
    """Decodes records as JSON, strictly by the table's columns, and asks the schema about those that fit them.

    A schema alone makes no row: what it says of defaults and formats changes no value. The decoder is cheap to pickle:
    only schemas travel.
    """

    def __init__(self, schema: pa.Schema, schemas: WriterSchemas, aliases: Mapping[str, str] | None = None) -> None:
        """Prepares for a table.

        Args:
            schema: The columns. Large strings and lists become small ones.
            schemas: Of the writers.
            aliases: Column → what records call it, where that is not its name.

        Raises:
            UndecodableType: A column's type has no JSON form.
        """
        self._json = JsonDecoder(schema, aliases)
        self.schema = self._json.schema
        self._schemas, self._aliases = schemas, dict(aliases or {})
        self._validators: dict[SchemaId, JsonSchemaValidator | RecordError] = {}

    def __reduce__(self) -> tuple[type["JsonSchemaDecoder"], tuple[pa.Schema, WriterSchemas, dict[str, str]]]:
        return JsonSchemaDecoder, (self.schema, self._schemas, self._aliases)

    def decode(self, values: pa.BinaryArray | pa.LargeBinaryArray, headers: pa.StringArray | None = None) -> Decoded:
        """Decodes every value to a row or an error."""
        return decode_framed(self.schema, self._schemas, values, headers, self._piece)

    def _piece(self, framed: Framed, observed: Observed) -> tuple[pa.RecordBatch, dict[int, RecordError]]:
        errors = dict(framed.errors)
        columns = GroupedColumns(self.schema, len(framed.values))
        for group in framed.groups:
            batch = self._read(group, framed.values, errors, observed)
            if batch is not None:
                columns.add(group.rows, batch.columns)
        return columns.batch(), errors

    def _read(
        self, group: SchemaGroup, values: pa.BinaryArray, errors: dict[int, RecordError], observed: Observed
    ) -> pa.RecordBatch | None:
        """The columns of records of one schema; nothing where none of them can be read."""
        rows: list[int] = group.rows.tolist()
        if self._schemas.named:
            observed.schemas[str(group.schema)] += len(rows)
        validator = self._validator(group.schema)
        if not isinstance(validator, JsonSchemaValidator):
            if validator is None:
                validator = unknown_schema(group.schema, observed)
            errors.update(dict.fromkeys(rows, validator))
            return None
        records: list[bytes] = [record[group.skip :] for record in values.take(pa.array(group.rows)).to_pylist()]
        decoded = self._json.decode(pa.array(records, pa.binary()))
        observed.extra.update(decoded.observed.extra)
        for place, record in enumerate(records):
            error = decoded.errors.get(place) or validator.check(record)
            if error is not None:
                errors[rows[place]] = error
        return decoded.batch

    def _validator(self, schema: SchemaId) -> JsonSchemaValidator | RecordError | None:
        if schema not in self._validators:
            writer = self._schemas.schema(schema)
            if writer is None:
                return None
            self._validators[schema] = writer if isinstance(writer, RecordError) else self._compiled(schema, writer)
        return self._validators[schema]

    def _compiled(self, schema: SchemaId, writer: WriterSchema) -> JsonSchemaValidator | RecordError:
        try:
            return JsonSchemaValidator(writer.text, writer.references)
        except SchemaUnusable as refusal:
            which = f"schema {schema}" if self._schemas.named else "the schema"
            return RecordError("schema_unusable", f"{which}: {refusal.message}")
