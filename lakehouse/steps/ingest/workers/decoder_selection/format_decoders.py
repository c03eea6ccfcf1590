"""The decoder of a table's columns by the format of the stream's records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from lakehouse.declarations import Avro, Encoded, JsonSchema, Mixed, Protobuf, Raw, Stream
from lakehouse.formats.avro import AvroDecoder, parse_writer_schema
from lakehouse.formats.decoded import Decoded
from lakehouse.formats.frames import RegistrySchemas, SchemaKind, SingleSchema
from lakehouse.formats.json import JsonDecoder
from lakehouse.formats.json_schema import JsonSchemaDecoder, JsonSchemaValidator
from lakehouse.formats.mixed import MixedDecoder, ReadsFormat
from lakehouse.formats.protobuf import MessageTypes, ProtobufDecoder, compile_proto
from lakehouse.formats.raw import RawDecoder
from lakehouse.formats.routed_records import RecordDecoder
from lakehouse.steps.ingest.workers.decoder_selection.schema_lookup import schema_kind

FormatDecoder = JsonDecoder | RecordDecoder
MakeDecoder = Callable[[pa.Schema, Mapping[str, str]], RecordDecoder]


def table_decoder(
    stream: Stream, schema: pa.Schema, aliases: Mapping[str, str], registered: RegistrySchemas | None
) -> FormatDecoder:
    """What reads the values of a stream into the columns of a table.

    Args:
        stream: whose records they are.
        schema: the columns.
        aliases: source name → column.
        registered: the schemas of the registry that are known by now.

    Raises:
        SchemaUnusable: the schema beside the declaration cannot be read with.
    """
    if isinstance(stream.format, Encoded):
        return format_decoder(stream.format, registered)(schema, aliases)
    return JsonDecoder(schema, aliases)


def format_decoder(form: Encoded, registered: RegistrySchemas | None) -> MakeDecoder:
    """What makes the decoder of a table's columns; a schema beside the declaration is looked at here.

    Raises:
        SchemaUnusable: it is none.
    """
    match form:
        case Raw():
            return lambda _schema, _aliases: RawDecoder()
        case Avro():
            reader = form.text if form.registry else None
            if not form.registry:
                parse_writer_schema(form.text or "")
            writers = registered or RegistrySchemas() if form.registry else SingleSchema(form.text or "")
            return lambda schema, aliases: AvroDecoder(schema, writers, aliases, reader)
        case Mixed():
            return _mixed(form, registered or RegistrySchemas())
        case JsonSchema():
            if not form.registry:
                JsonSchemaValidator(form.text or "")
            judges = registered or RegistrySchemas() if form.registry else SingleSchema(form.text or "", kind="JSON")
            return lambda schema, aliases: JsonSchemaDecoder(schema, judges, aliases)
        case Protobuf():
            compiled = b"" if form.registry else _compiled(form)
            messages = registered or RegistrySchemas() if form.registry else SingleSchema("", compiled)
            return lambda schema, aliases: ProtobufDecoder(schema, messages, aliases, form.message)


def _mixed(form: Mixed, registered: RegistrySchemas) -> MakeDecoder:
    makers: dict[SchemaKind, MakeDecoder] = {
        schema_kind(part): format_decoder(part, registered) for part in form.framed
    }
    plain = None if form.plain in (None, "json") else format_decoder(form.plain, None)

    def make(schema: pa.Schema, aliases: Mapping[str, str]) -> RecordDecoder:
        text = JsonDecoder(schema, aliases) if form.plain == "json" else plain and plain(schema, aliases)
        by_kind: dict[SchemaKind, ReadsFormat] = {
            kind: ReadFormat(maker(schema, aliases)) for kind, maker in makers.items()
        }
        return MixedDecoder(schema, registered, by_kind, None if text is None else ReadFormat(text))

    return make


@dataclass(frozen=True)
class ReadFormat:
    """A decoder of one format, asked for values with their headers."""

    decoder: FormatDecoder

    def __call__(self, values: pa.BinaryArray, headers: pa.StringArray | None) -> Decoded:
        """One row a record, or its error."""
        if isinstance(self.decoder, JsonDecoder):
            return self.decoder.decode(values)
        return self.decoder.decode(values, headers)


def _compiled(form: Protobuf) -> bytes:
    if form.descriptor_set is None:
        compiled = compile_proto(form.sources[0][0], dict(form.sources))
    else:
        compiled = form.descriptor_set
    MessageTypes(compiled).named(form.message)
    return compiled
