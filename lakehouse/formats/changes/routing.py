"""Which changelog a message is for, where a stream has several."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from lakehouse.declarations.formats.change_format import ChangeFormat, Debezium, Dms
from lakehouse.formats.changes.facts import ChangeTable
from lakehouse.formats.changes.keys import table_of_key
from lakehouse.formats.changes.reading import Fields, fields_of, member, text_of
from lakehouse.formats.json.record_parser import RecordParser
from lakehouse.formats.verdict import RecordError

NOBODY = ""
"""Stands for a changelog where there is none."""
_MAX_NAME = 3


class _Source(msgspec.Struct, gc=False):
    db: str | None = None
    schema: str | None = None
    table: str | None = None


class _Envelope(msgspec.Struct, gc=False):
    source: _Source | None = None


class _Debezium(msgspec.Struct, gc=False):
    source: _Source | None = None
    payload: _Envelope | None = None


class _Metadata(msgspec.Struct, gc=False, rename={"schema": "schema-name", "table": "table-name"}):
    schema: str | None = None
    table: str | None = None


class _Dms(msgspec.Struct, gc=False):
    metadata: _Metadata | None = None


class Router:
    """Groups messages by changelog; each goes to exactly one, or to nobody.

    A message goes where its source table has a changelog, and otherwise to the one for all others, or to the first,
    which keeps control records and refuses changes of what is not its own. A tombstone has no source table. Where
    there are several changelogs it must come from its key: from the name of the key's schema, or from the field that
    Debezium's topic router adds. Otherwise nobody can tell whose row it deletes. One without a key is of a table that
    has none.
    """

    error = RecordError("unknown_source", "neither the message nor its key tells which source table it is of")

    def __init__(self, form: ChangeFormat, tables: Mapping[str, ChangeTable]) -> None:
        self._all = list(tables)
        self._routes = {source: name for name, table in tables.items() for source in table.sources}
        self._default = self._routes.get(None, self._all[0])
        self._keyless = next((name for name, table in tables.items() if not table.key), self._default)
        self._envelope = RecordParser(_Debezium if isinstance(form, Debezium) else _Dms)
        self._name = _of_debezium if isinstance(form, Debezium) else _of_dms
        self._named = isinstance(form, Debezium | Dms)

    def groups(self, values: pa.BinaryArray, keys: pa.BinaryArray | None) -> dict[str, np.ndarray]:
        """Changelog → its rows, ascending."""
        everything = np.arange(len(values))
        if len(self._all) == 1:
            return self._only(values, keys, everything)
        if not self._named:
            return {self._routes.get(None, NOBODY): everything}
        rows_of: dict[str, list[int]] = {}
        for row, value in enumerate(values.to_pylist()):
            if value is None:
                key = None if keys is None else keys[row].as_py()
                name = self._keyless if key is None else self._of_tombstone(key)
            else:
                name = self._routes.get(self._source(value), self._default)
            rows_of.setdefault(name, []).append(row)
        return {name: np.array(rows) for name, rows in rows_of.items()}

    def may_be(self, name: str, value: bytes | None, key: bytes | None) -> bool:
        """Whether a message that was refused is about rows of a changelog, or nobody can tell whose they are."""
        if value is None:
            table = table_of_key(key)
            return key is not None and (table is None or self._named_in(table) == name)
        source = self._source(value) if self._named else None
        if source is None or "None" in source.split("."):
            return True
        return self._routes.get(source, self._routes.get(None, NOBODY)) == name

    def _only(
        self, values: pa.BinaryArray, keys: pa.BinaryArray | None, everything: np.ndarray
    ) -> dict[str, np.ndarray]:
        """All for the one changelog, but tombstones whose key names another table than its own."""
        name = self._all[0]
        if keys is None or None in self._routes or not values.null_count:
            return {name: everything}
        empty = np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False)).tolist()
        foreign = [row for row in empty if self._of_tombstone(keys[row].as_py(), name) == NOBODY]
        return {name: np.delete(everything, foreign), **({NOBODY: np.array(foreign)} if foreign else {})}

    def _of_tombstone(self, key: bytes | None, otherwise: str = NOBODY) -> str:
        table = table_of_key(key)
        return otherwise if table is None else self._named_in(table)

    def _named_in(self, table: str) -> str:
        """The changelog for a table that a key names, whatever stands before its name."""
        parts = table.split(".")
        for length in range(2, min(len(parts), _MAX_NAME) + 1):
            name = self._routes.get(".".join(parts[-length:]))
            if name is not None:
                return name
        return self._routes.get(None, NOBODY)

    def _source(self, value: bytes) -> str | None:
        record: Any = self._envelope.parse(value)
        if isinstance(record, RecordError):
            fields = fields_of(value)
            return None if isinstance(fields, RecordError) else _slowly(fields)
        return self._name(record)


def _of_debezium(record: _Debezium) -> str | None:
    source = record.source or (record.payload.source if record.payload else None)
    return None if source is None or source.table is None else f"{source.schema or source.db}.{source.table}"


def _of_dms(record: _Dms) -> str | None:
    metadata = record.metadata
    return None if metadata is None else f"{metadata.schema}.{metadata.table}"


def _slowly(fields: Fields) -> str | None:
    """For a message whose other members are not as they should be."""
    source = member(fields, "source") or member(member(fields, "payload") or {}, "source")
    if source is not None:
        return f"{text_of(source, 'schema') or text_of(source, 'db')}.{text_of(source, 'table')}"
    metadata = member(fields, "metadata")
    return None if metadata is None else f"{text_of(metadata, 'schema-name')}.{text_of(metadata, 'table-name')}"
