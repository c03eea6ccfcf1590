"""Columns as messages call them: a column may have an alias there, with characters that no column's name has."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

# The parser of messages takes no name with these, which JSON writes with a backslash. A letter for private use stands
# for each, in the name that the parser is given and in the messages that it reads.
_STAND_INS = {code: chr(0xF000 + code) for code in (*range(0x20), ord('"'), ord("\\"))}
_ORIGINALS = {ord(letter): chr(code) for code, letter in _STAND_INS.items()}
_NOT_STANDING_IN = chr(0xF0FF)
_STRING = re.compile(rb'("(?:[^"\\]|\\.)*")(\s*:)?', re.DOTALL)


def source_schema(schema: pa.Schema, aliases: Mapping[str, str]) -> pa.Schema:
    """The schema by the names of messages, as the parser takes them.

    Args:
        schema: by the names of the table.
        aliases: column → what messages call it; the others are called by their names.
    """
    return pa.schema([_renamed(field, aliases) for field in schema], metadata=schema.metadata)


def source_struct(kind: pa.StructType, aliases: Mapping[str, str]) -> pa.StructType:
    """The same for an image of a row, or a key."""
    return pa.struct([_renamed(field, aliases) for field in kind])


def parser_name(name: str) -> str:
    """A name as the parser takes it: the same, but for quotes, backslashes and control characters."""
    return name.translate(_STAND_INS)


def original_name(text: str) -> str:
    """What stands for the parser's names in messages, in a text with some of them."""
    return text.translate(_ORIGINALS)


class QuotedNames:
    """Names that the parser does not take, in messages and in what is said of them.

    A message may have a member that is itself called as what stands for a name: it is given yet another.
    """

    def __init__(self, names: Iterable[str]) -> None:
        quoted = {name: parser_name(name) for name in names if parser_name(name) != name}
        self._marks = [b"\\", *(stand_in.encode() for stand_in in quoted.values())]
        self._names = quoted | {stand_in: stand_in + _NOT_STANDING_IN for stand_in in quoted.values()}
        self._originals = {stand_in: name for name, stand_in in self._names.items()}

    def hide(self, values: pa.BinaryArray) -> pa.BinaryArray:
        """Messages with the parser's names in the place of these; nearly always the messages themselves."""
        if not self._names or not any(pc.any(pc.match_substring(values, mark)).as_py() for mark in self._marks):
            return values
        return pa.array([self.hidden(value) for value in values.to_pylist()], values.type)

    def hidden(self, value: bytes | None) -> bytes | None:
        """The same for one message or key."""
        if not self._names or value is None or not any(mark in value for mark in self._marks):
            return value
        return _STRING.sub(partial(_member, self._names), value)

    def written(self, name: str) -> str:
        """What stands in messages for a name of the parser's."""
        return self._originals.get(name, name)

    def shown(self, errors: Mapping[int, RecordError]) -> dict[int, RecordError]:
        """What is wrong with messages, by the names that they have."""
        if not self._names:
            return dict(errors)
        return {row: replace(error, message=original_name(error.message)) for row, error in errors.items()}

    def shown_json(self, parts: Mapping[int, str]) -> dict[int, str]:
        """Parts of messages with the names that they have; every other text stays, whatever letters are in it."""
        if not self._names:
            return dict(parts)
        member = partial(_member, self._originals)
        return {row: _STRING.sub(member, text.encode()).decode() for row, text in parts.items()}


def _member(names: Mapping[str, str], match: re.Match[bytes]) -> bytes:
    """A member of an object by its other name, if it has one."""
    string, colon = match.groups()
    if colon is None:
        return match[0]
    try:
        name = msgspec.json.decode(string, type=str)
    except msgspec.DecodeError:
        return match[0]
    return msgspec.json.encode(names[name]) + colon if name in names else match[0]


def _renamed(field: pa.Field, aliases: Mapping[str, str]) -> pa.Field:
    return field.with_name(parser_name(aliases.get(field.name, field.name)))
