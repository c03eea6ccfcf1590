"""Which decoder reads the records of a stream, and which table is behind each of its routes."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from lakehouse.declarations import (
    ByField,
    ByHeader,
    BySource,
    ByTopic,
    Declarations,
    Encoded,
    Raw,
    Stream,
    ToAll,
    ToNamed,
    ToTable,
)
from lakehouse.declarations.columns.column import aliases_of
from lakehouse.declarations.formats.record_format import record_part
from lakehouse.declarations.routes import targets_of
from lakehouse.formats.changes import ChangeDecoder, ChangeTable
from lakehouse.formats.decoded import Decoded
from lakehouse.formats.evolution.decoder import EvolvingDecoder
from lakehouse.formats.evolution.stopped import StoppedTable
from lakehouse.formats.frames import RegistrySchemas
from lakehouse.formats.json import JsonDecoder, RoutedDecoder
from lakehouse.formats.record_columns import RecordColumns
from lakehouse.formats.routed_records import RoutedRecords
from lakehouse.steps.ingest.workers.decoder_selection.format_decoders import (
    FormatDecoder,
    format_decoder,
    table_decoder,
)
from lakehouse.steps.ingest.workers.decoder_selection.named_tables import NamedTables
from lakehouse.steps.ingest.workers.decoder_selection.record_router import Choice, RecordRouter

TableDecoder = FormatDecoder | EvolvingDecoder | StoppedTable
RoutingDecoder = RoutedDecoder | RoutedRecords | ChangeDecoder


@dataclass(frozen=True)
class StreamDecoder:
    """How the records of a stream become rows.

    Attributes:
        values: reads the values.
        tables: route → table, for each route that `values` knows.
        columns: table → its columns, where some hold parts of the record itself.
    """

    values: TableDecoder | RoutingDecoder | RecordRouter
    tables: Mapping[str, str]
    columns: Mapping[str, RecordColumns]


def stream_decoder(
    stream: Stream,
    declarations: Declarations,
    schemas: Mapping[str, pa.Schema],
    registered: RegistrySchemas | None = None,
    stopped: Mapping[str, str] | None = None,
    unmakeable: Mapping[str, str] | None = None,
) -> StreamDecoder:
    """What reads the stream's records.

    Args:
        stream: whose records they are.
        declarations: with the stream's tables.
        schemas: table → what a record of it looks like, without coordinates.
        registered: the schemas of the registry that are known by now.
        stopped: table that takes no record → why.
        unmakeable: table that records may name, and that cannot be made → why.

    Raises:
        SchemaUnusable: the schema beside the declaration cannot be read with.
    """
    route = stream.route
    if isinstance(route, BySource):
        return _changes(stream, route, declarations, schemas)
    columns = {
        name: RecordColumns(
            schemas[name],
            {
                c.name: part
                for c in declarations.tables[name].columns
                if (part := record_part(stream.format, c)) and c.name in schemas[name].names
            },
        )
        for name in stream.tables
    }
    aliases = {name: aliases_of(declarations.tables[name].columns) for name in stream.tables}

    def decoder_of(name: str) -> TableDecoder:
        if stopped and name in stopped:
            return StoppedTable(name, stopped[name])
        table, schema = declarations.tables[name], values[name]
        if table.evolution is None or isinstance(stream.format, Raw):
            return table_decoder(stream, schema, aliases[name], registered)

        def decoder(schema: pa.Schema, aliases: Mapping[str, str]) -> FormatDecoder:
            return table_decoder(stream, schema, aliases, registered)

        chooses = {route.field} if isinstance(route, ByField | ToNamed) and route.field else set[str]()
        return EvolvingDecoder(name, schema, aliases[name], decoder, adds=table.evolution.add, without=chooses)

    values = {name: of_table.value_schema for name, of_table in columns.items()}
    with_parts = {name: of_table for name, of_table in columns.items() if of_table.parts}
    if isinstance(route, ToTable):
        return StreamDecoder(decoder_of(route.table), {"": route.table}, with_parts)
    general = bool(stopped) or any(declarations.tables[name].evolution is not None for name in stream.tables)
    exact = route.exact if isinstance(route, ByField) and not general else None
    if exact is None or not isinstance(route, ByField):
        decoders = {name: decoder_of(name) for name in stream.tables}
        by_field = isinstance(route, ByField | ToNamed) and route.field
        field = pa.schema([pa.field(by_field, pa.string())]) if by_field else None
        field_of = None if field is None else _Values(table_decoder(stream, field, {}, registered))
        if isinstance(route, ToNamed):
            others = [name for name in declarations.tables if name not in route.tables]
            router = _named_router(NamedTables(route, others, unmakeable or {}), decoders, field_of)
        else:
            router = _router(route, decoders, field_of)
        return StreamDecoder(router, {name: name for name in stream.tables}, with_parts)
    by_route = {value: values[table] for value, table in exact.items()}
    aliases_by_route = {value: aliases[table] for value, table in exact.items()}
    if isinstance(stream.format, Encoded):
        make = format_decoder(stream.format, registered)
        chooser = make(pa.schema([pa.field(route.field, pa.string())]), {})
        each = {value: make(schema, aliases_by_route[value]) for value, schema in by_route.items()}
        return StreamDecoder(RoutedRecords(route.field, chooser, each), exact, with_parts)
    return StreamDecoder(RoutedDecoder(route.field, by_route, aliases_by_route), exact, with_parts)


@dataclass(frozen=True)
class _Values:
    """A table's decoder, asked for whole records."""

    decoder: TableDecoder

    def __call__(self, records: pa.RecordBatch) -> Decoded:
        if isinstance(self.decoder, JsonDecoder):
            return self.decoder.decode(records.column("value"))
        return self.decoder.decode(records.column("value"), records.column("headers"))


def _named_router(choice: NamedTables, decoders: Mapping[str, TableDecoder], field_of: _Values | None) -> RecordRouter:
    values, route = {name: _Values(decoder) for name, decoder in decoders.items()}, choice.route
    return RecordRouter(choice, values, header=route.header, field=route.field, field_of=field_of)


def _router(
    route: ToAll | ByField | ByHeader | ByTopic, decoders: Mapping[str, TableDecoder], field_of: _Values | None
) -> RecordRouter:
    values = {name: _Values(decoder) for name, decoder in decoders.items()}
    if isinstance(route, ToAll):
        return RecordRouter(None, values)
    choice = Choice(
        {value: targets_of(tables) for value, tables in route.routes.items() if isinstance(value, str)},
        [(value, targets_of(tables)) for value, tables in route.routes.items() if not isinstance(value, str)],
    )
    return RecordRouter(
        choice,
        values,
        header=route.header if isinstance(route, ByHeader) else "",
        field=route.field if isinstance(route, ByField) else "",
        field_of=field_of,
    )


def _changes(
    stream: Stream, route: BySource, declarations: Declarations, schemas: Mapping[str, pa.Schema]
) -> StreamDecoder:
    assert stream.format != "json"  # a declaration with this route and no format of changes is refused
    assert not isinstance(stream.format, Encoded)
    changelogs = {
        name: ChangeTable.of(
            declarations.changelogs[name],
            schemas[name],
            (source for source, table in route.routes.items() if table == name),
        )
        for name in stream.tables
    }
    return StreamDecoder(ChangeDecoder(stream.format, changelogs), {name: name for name in changelogs}, {})
