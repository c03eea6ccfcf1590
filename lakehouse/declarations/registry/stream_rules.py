"""What a table of a stream has to be: declared, appended to, and with columns that records can fill."""

from functools import partial
from pathlib import Path

from lakehouse.declarations.columns.record_parts import check_record_part
from lakehouse.declarations.formats.json_schema_format import JsonSchema
from lakehouse.declarations.formats.mixed_format import Mixed
from lakehouse.declarations.formats.protobuf_format import Protobuf
from lakehouse.declarations.formats.record_format import Raw, record_part
from lakehouse.declarations.own_tables.audit_log import AUDIT_LOG
from lakehouse.declarations.registry.broken import Contradiction
from lakehouse.declarations.registry.declarations import Declarations
from lakehouse.declarations.registry.mistyped_names import declare_or_use
from lakehouse.declarations.routes import several_tables
from lakehouse.declarations.stream import Stream
from lakehouse.declarations.table import Table
from lakehouse.iceberg.names import identifier_of


def streamed(stream: Stream, file: Path, name: str, declarations: Declarations) -> Table:
    """A table of a stream with its coordinates.

    Raises:
        Contradiction: the stream cannot write this table.
    """
    table = declarations.tables.get(name)
    if table is None:
        raise Contradiction(
            f"{file}: stream {stream.name} goes to {name}, which is not declared.",
            remedy=declare_or_use(name, _without_writer(declarations)),
            streams=[stream.name],
            missing=name,
        )
    refused = partial(Contradiction, streams=[stream.name], tables=[name])
    if table.write_mode != "append":
        raise refused(
            f"{file}: stream {stream.name} appends to {name}, whose write mode is {table.write_mode} "
            f"({declarations.files[name]}).",
            remedy="declare write_mode='append'.",
        )
    if stream.topics is not None and table.duplicates is not None:
        raise refused(
            f"{file}: stream {stream.name} reads several topics, and {name} drops duplicates, which are told by "
            f"partition and offset of one topic ({declarations.files[name]}).",
            remedy="leave `duplicates` out, or declare a stream for each topic.",
        )
    if several_tables(stream.route) and (table.keep or table.duplicates is not None):
        raise refused(
            f"{file}: stream {stream.name} sends a record to several tables, and {name} would drop some of them "
            f"({declarations.files[name]}).",
            remedy="leave `keep` and `duplicates` out, or give the table a stream of its own.",
        )
    _require_parts(stream, file, table)
    return table.with_coordinates()


def _without_writer(declarations: Declarations) -> list[str]:
    """Tables that a stream may have meant: nothing else writes them, and they are not the lakehouse's own."""
    own, *_ = identifier_of(AUDIT_LOG.name)
    return [name for name in declarations.tables if identifier_of(name)[0] != own and declarations.writer(name) is None]


def _require_parts(stream: Stream, file: Path, table: Table) -> None:
    """Of a raw record there is nothing but its parts."""
    refused = partial(Contradiction, streams=[stream.name], tables=[table.name])
    if table.evolution is not None and isinstance(stream.format, JsonSchema | Protobuf | Mixed):
        raise refused(
            f"{file}: {table.name} has an evolution, and stream {stream.name} reads its records as "
            f"{type(stream.format).__name__}.",
            remedy="leave it out: tables follow records in JSON and in Avro.",
        )
    if not isinstance(stream.format, Raw):
        return
    for column in table.own_columns:
        if not record_part(stream.format, column):
            raise refused(
                f"{file}: stream {stream.name} leaves records raw, and nothing of them can fill {table.name}."
                f"{column.name}.",
                remedy="call it key, value or headers, give it the metadata {'record': …}, or leave it out.",
            )
        if not column.record:
            check_record_part(f"{table.name}.{column.name}", column.name, column.type)
