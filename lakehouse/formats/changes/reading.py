"""Messages to wire columns, a piece at a time: quickly where all is as expected, else one by one, in the same order."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from lakehouse.formats.changes.facts import Errors, Facts
from lakehouse.formats.json.columns import wire_columns
from lakehouse.formats.json.pieces import pieces
from lakehouse.formats.json.record_parser import RecordParser
from lakehouse.formats.verdict import RecordError

Fields = Mapping[str, msgspec.Raw]
"""An object's members, each as its JSON."""
_OBJECT = RecordParser(dict[str, msgspec.Raw])


@dataclass(frozen=True)
class Odd:
    """A message that had to be looked at alone.

    Attributes:
        record: in the form of all others.
        control: it says nothing of any row.
        extra: JSON of fields that nobody declared.
    """

    record: Any
    control: bool = False
    extra: str | None = None


@dataclass
class WireColumns:
    """Wire columns of some messages, a row for each, and what they do not tell."""

    columns: list[pa.Array]
    tombstones: list[int] = field(default_factory=list[int])
    controls: list[int] = field(default_factory=list[int])
    extra: dict[int, str] = field(default_factory=dict[int, str])
    errors: Errors = field(default_factory=dict[int, RecordError])


class Form(ABC):
    """How messages of one form are read for one changelog.

    Attributes:
        wire: columns of the parser's records.
        blank: a record of nulls.
    """

    wire: pa.Schema
    blank: Any

    @abstractmethod
    def parse_all(self, values: pa.BinaryArray) -> list[Any] | None:
        """All as records, or None if any must be looked at alone."""

    @abstractmethod
    def parse(self, value: bytes) -> Any | RecordError:
        """One as a record, by the same rules."""

    def silent(self, records: Sequence[Any]) -> list[int]:
        """Records that `parse` takes and that do not tell what they are, so that they must be looked at alone."""
        del records
        return []

    @abstractmethod
    def odd(self, value: bytes) -> Odd | RecordError:
        """What a message is that `parse` refuses or knows nothing of."""

    @abstractmethod
    def facts(self, read: WireColumns, offsets: pa.Int64Array | None) -> Facts:
        """What the messages say."""

    @abstractmethod
    def image(self, value: bytes, name: str) -> Fields:
        """The fields of one image, `before` or `after`, as they came."""

    @abstractmethod
    def without_images(self, fields: Fields) -> Fields:
        """What a message says of the change itself, whatever is wrong with its images; it is read like any other."""

    def read(self, values: pa.BinaryArray) -> WireColumns:
        """Every value as a row."""
        read = WireColumns([])
        parts: list[list[pa.Array]] = []
        for start, piece in pieces(values):
            parts.append(self._piece(piece, start, read))
        read.columns = [
            pa.concat_arrays([part[i] for part in parts]) if parts else pa.array([], f.type)
            for i, f in enumerate(self.wire)
        ]
        return read

    def _piece(self, piece: pa.BinaryArray, start: int, read: WireColumns) -> list[pa.Array]:
        records, looked_at = self._records(piece, start, read)
        for row in self.silent(records):
            if row not in looked_at:
                records[row] = self._alone(piece[row].as_py(), start + row, read)
        return wire_columns(records, self.wire)

    def _records(self, piece: pa.BinaryArray, start: int, read: WireColumns) -> tuple[list[Any], set[int]]:
        """A record for each, and those that have been looked at alone."""
        if not piece.null_count:
            records = self.parse_all(piece)
            return (records, set()) if records is not None else self._one_by_one(piece.to_pylist(), start, read)
        rest = self.parse_all(piece.drop_null())
        if rest is None:
            return self._one_by_one(piece.to_pylist(), start, read)
        empty = np.flatnonzero(piece.is_null().to_numpy(zero_copy_only=False)).tolist()
        read.tombstones.extend(start + row for row in empty)
        empty_rows, others = set(empty), iter(rest)
        return [self.blank if row in empty_rows else next(others) for row in range(len(piece))], empty_rows

    def _one_by_one(self, values: Sequence[bytes | None], start: int, read: WireColumns) -> tuple[list[Any], set[int]]:
        records: list[Any] = []
        looked_at: set[int] = set()
        for row, value in enumerate(values):
            record = self.blank if value is None else self.parse(value)
            if value is None or isinstance(record, RecordError):
                looked_at.add(row)
                record = self._alone(value, start + row, read)
            records.append(record)
        return records, looked_at

    def _alone(self, value: bytes | None, row: int, read: WireColumns) -> Any:
        if value is None:
            read.tombstones.append(row)
            return self.blank
        parsed = self.odd(value)
        if isinstance(parsed, RecordError):
            read.errors[row] = parsed
            return self.blank
        if parsed.extra is not None:
            read.extra[row] = parsed.extra
        if parsed.control:
            read.controls.append(row)
        return parsed.record


def fields_of(value: bytes) -> Fields | RecordError:
    """The members of a JSON object."""
    return _OBJECT.parse(value)  # pyright: ignore[reportReturnType]


def is_wrapped(fields: Fields) -> bool:
    """Whether an object is a payload beside its schema, as Kafka Connect writes it, and nothing else."""
    return len(fields) == 2 and "schema" in fields and "payload" in fields


def object_of(fields: Fields) -> bytes:
    """The JSON of some members."""
    return b"{" + b",".join(msgspec.json.encode(name) + b":" + bytes(value) for name, value in fields.items()) + b"}"


def member(fields: Fields, name: str) -> Fields | None:
    """The members of a member that is an object."""
    if name not in fields:
        return None
    members = fields_of(bytes(fields[name]))
    return None if isinstance(members, RecordError) else members


def text_of(fields: Fields, name: str) -> str | None:
    """A member that is text."""
    try:
        return msgspec.json.decode(fields[name], type=str) if name in fields else None
    except msgspec.DecodeError:
        return None


def is_null(fields: Fields, name: str) -> bool:
    """Whether a member is missing or null, which is the same."""
    return name not in fields or bytes(fields[name]) == b"null"


def undeclared(fields: Fields, known: frozenset[str]) -> str | None:
    """The JSON of those members that nobody knows, as they came."""
    unknown = [(name, value) for name, value in fields.items() if name not in known]
    if not unknown:
        return None
    members = (msgspec.json.encode(name).decode() + ":" + bytes(value).decode() for name, value in unknown)
    return "{" + ",".join(members) + "}"
