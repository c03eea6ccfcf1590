"""All tables and streams together, and the rules between them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lakehouse.tables.error import DeclarationError
from lakehouse.tables.files import declared_in, python_files
from lakehouse.tables.quarantine import quarantine_table
from lakehouse.tables.stream import Stream
from lakehouse.tables.table import Table


@dataclass(frozen=True)
class Declarations:
    """What is declared.

    Attributes:
        tables: by name; those that a stream writes have their coordinates, and each stream's quarantine is among them.
        streams: by name.
        files: where each table and stream was declared; a quarantine belongs to its stream's file.
    """

    tables: dict[str, Table]
    streams: dict[str, Stream]
    files: dict[str, Path]

    def writer(self, table: str) -> Stream | None:
        """Return the stream that writes a table, as data or as quarantine."""
        for stream in self.streams.values():
            if table in stream.tables or table == stream.quarantine_table:
                return stream
        return None


def load_declarations(folders: Iterable[Path]) -> Declarations:
    """Run every declaration file below the folders and put together what they declare.

    Raises:
        DeclarationError: names the file, and what to do.
    """
    tables: dict[str, tuple[Table, Path]] = {}
    streams: dict[str, tuple[Stream, Path]] = {}
    for file in python_files(folders):
        for item in declared_in(file):
            kind, known = ("table", tables) if isinstance(item, Table) else ("stream", streams)
            # Two names that differ in case alone are one for Spark and for some file systems.
            twin = next((where for name, (_, where) in known.items() if name.casefold() == item.name.casefold()), None)
            if twin is not None:
                raise DeclarationError(
                    f"{file}: the {kind} {item.name} is declared in {twin} as well.", remedy="keep one."
                )
            if isinstance(item, Table):
                tables[item.name] = item, file
            else:
                streams[item.name] = item, file
    return _joined(tables, streams)


def _joined(tables: dict[str, tuple[Table, Path]], streams: dict[str, tuple[Stream, Path]]) -> Declarations:
    joined = Declarations(
        tables={name: table for name, (table, _) in tables.items()},
        streams={name: stream for name, (stream, _) in streams.items()},
        files={name: file for known in (tables, streams) for name, (_, file) in known.items()},
    )
    writers: dict[str, Stream] = {}
    for stream, file in streams.values():
        for name in (*stream.tables, stream.quarantine_table):
            other = writers.setdefault(name.casefold(), stream)
            if other is not stream:
                raise DeclarationError(
                    f"{file}: the streams {other.name} and {stream.name} both write {name}.",
                    remedy="a table has one writer; give each stream a table of its own.",
                )
        for name in stream.tables:
            joined.tables[name] = _streamed(stream, file, name, joined)
        twin = next((name for name in tables if name.casefold() == stream.quarantine_table.casefold()), None)
        if twin is not None:
            raise DeclarationError(
                f"{file}: {stream.quarantine_table}, the quarantine of stream {stream.name}, is declared as a table in "
                f"{joined.files[twin]}.",
                remedy="remove that table, or name another quarantine.",
            )
        joined.tables[stream.quarantine_table] = quarantine_table(stream, joined.tables[stream.tables[0]].owner)
        joined.files[stream.quarantine_table] = file
    return joined


def _streamed(stream: Stream, file: Path, name: str, joined: Declarations) -> Table:
    table = joined.tables.get(name)
    if table is None:
        raise DeclarationError(
            f"{file}: stream {stream.name} goes to {name}, which is not declared.",
            remedy=f"declare it, or use one of {', '.join(sorted(joined.tables)) or '(none yet)'}.",
        )
    if table.write_mode != "append":
        raise DeclarationError(
            f"{file}: stream {stream.name} appends to {name}, whose write mode is {table.write_mode} "
            f"({joined.files[name]}).",
            remedy="declare write_mode='append'.",
        )
    return table.with_coordinates()
