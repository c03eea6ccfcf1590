"""Which decoder reads the records of a stream, and which table is behind each of its routes."""

from collections.abc import Mapping

import pyarrow as pa

from lakehouse.declarations import ByField, BySource, Declarations, Stream, ToTable
from lakehouse.declarations.columns.column import aliases_of
from lakehouse.formats.changes import ChangeDecoder, ChangeTable
from lakehouse.formats.json import JsonDecoder, RoutedDecoder

StreamDecoder = JsonDecoder | RoutedDecoder | ChangeDecoder


def stream_decoder(
    stream: Stream, declarations: Declarations, schemas: Mapping[str, pa.Schema]
) -> tuple[StreamDecoder, dict[str, str]]:
    """What reads the stream's records, and route → table for each route that it knows.

    Args:
        stream: whose records they are.
        declarations: with the stream's tables.
        schemas: table → what a record of it looks like, without coordinates.
    """
    match stream.route:
        case ToTable(table):
            return JsonDecoder(schemas[table], aliases_of(declarations.tables[table].columns)), {"": table}
        case ByField(field, routes):
            aliases = {value: aliases_of(declarations.tables[table].columns) for value, table in routes.items()}
            by_value = {value: schemas[table] for value, table in routes.items()}
            return RoutedDecoder(field, by_value, aliases), dict(routes)
        case BySource(routes):
            assert stream.format != "json"  # a declaration with this route and no format of changes is refused
            changelogs = {
                name: ChangeTable.of(
                    declarations.changelogs[name],
                    schemas[name],
                    (source for source, table in routes.items() if table == name),
                )
                for name in stream.tables
            }
            return ChangeDecoder(stream.format, changelogs), {name: name for name in changelogs}
