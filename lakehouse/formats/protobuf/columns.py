"""A message type against a table's columns: what reads each message into columns, made once for each type.

Fields meet by name. The table may lack fields of the message, which are named in `extra`. A field whose absence can be
seen (of proto2, `optional`, of a oneof, a message) is null where it is absent, unless its schema says a default; any
other is then the zero of its type, as the library has it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pyarrow import types as t

from lakehouse.formats.arrays import offsets_of
from lakehouse.formats.protobuf.known_types import known_type
from lakehouse.formats.protobuf.leaves import kind_name, leaf
from lakehouse.formats.protobuf.part import Part, Read, Values
from lakehouse.formats.schema_errors import Unfit, unfit
from lakehouse.formats.verdict import RecordError

ReadFields = Callable[[Values, Part], list[pa.Array]]


@dataclass(frozen=True)
class MessageMatch:
    """What a message type and a table have to do with each other.

    Attributes:
        read: makes the columns of a table, in its order, of messages.
        extra: paths of fields that the table does not have.
    """

    read: ReadFields
    extra: tuple[str, ...]


def match_message(
    message: Descriptor, fields: Sequence[pa.Field], names: Mapping[str, str] | None = None
) -> MessageMatch:
    """Match a message type with columns.

    Args:
        message: the type.
        fields: the columns.
        names: column → what messages call it, where that is another name.

    Raises:
        Unfit: no message can be a row.
    """
    matching = _Matching()
    return MessageMatch(matching.fields(message, fields, names or {}, ""), tuple(matching.extra))


@dataclass
class _Matching:
    extra: list[str] = field(default_factory=list[str])

    def fields(
        self, message: Descriptor, fields: Sequence[pa.Field], names: Mapping[str, str], prefix: str
    ) -> ReadFields:
        known = message.fields_by_name
        wanted = [names.get(column.name, column.name) for column in fields]
        self.extra += [f"{prefix}{name}" for name in known if name not in wanted]
        steps = [
            self._column(known[name], column, f"{prefix}{name}")
            if name in known
            else _missing(column, f"{prefix}{name}")
            for name, column in zip(wanted, fields, strict=True)
        ]
        return lambda messages, part: [step(messages, part) for step in steps]

    def _column(self, fd: FieldDescriptor, column: pa.Field, path: str) -> Read:
        """Reads a field out of its messages."""
        get = _getter(fd)
        read = self._field(fd, column.type, path)
        error = RecordError("missing_field", f"`{path}` is required, but missing")

        def read_column(messages: Values, part: Part) -> pa.Array:
            values = get(messages)
            if not column.nullable and None in values:
                for element, value in enumerate(values):
                    if value is None:
                        part.fail(element, error)
            return read(values, part)

        return read_column

    def _field(self, fd: FieldDescriptor, declared: pa.DataType, path: str) -> Read:
        if not fd.is_repeated:
            return self._value(fd, declared, path)
        entry = fd.message_type
        if entry is not None and entry.GetOptions().map_entry:
            if not t.is_map(declared):
                raise unfit("a map", declared, path)
            return self._map(entry, declared, path)
        if not t.is_list(declared):
            raise unfit(f"repeated {kind_name(fd)}", declared, path)
        return _list(self._value(fd, declared.value_type, f"{path}[]"), declared)

    def _value(self, fd: FieldDescriptor, declared: pa.DataType, path: str) -> Read:
        message = fd.message_type
        if message is None:
            return leaf(fd, declared, path)
        if t.is_struct(declared):
            return _struct(self.fields(message, list(declared), {}, f"{path}."), declared)
        read = known_type(message, declared, path)
        if read is None:
            raise unfit(kind_name(fd), declared, path)
        return read

    def _map(self, entry: Descriptor, declared: pa.MapType, path: str) -> Read:
        keys = leaf(entry.fields_by_name["key"], declared.key_type, f"{path}{{}}")
        items = self._value(entry.fields_by_name["value"], declared.item_type, f"{path}{{}}")

        def read(values: Values, part: Part) -> pa.Array:
            # In the order of their keys: the library's own order is another one every time.
            entries = [sorted(value.items(), key=itemgetter(0)) for value in values]
            counts = list(map(len, entries))
            flat, inner = list(chain.from_iterable(entries)), part.items(counts)
            arrays = keys([key for key, _ in flat], inner), items([item for _, item in flat], inner)
            return pa.MapArray.from_arrays(offsets_of(np.array(counts, np.int64)), *arrays, declared)

        return read


def _missing(column: pa.Field, path: str) -> Read:
    if not column.nullable:
        raise Unfit(RecordError("missing_field", f"`{path}` is required, and the writer's schema lacks it"))
    return lambda messages, _: pa.nulls(len(messages), column.type)


def _getter(fd: FieldDescriptor) -> Callable[[Values], Values]:
    name = fd.name
    value: Callable[[Any], Any] = attrgetter(name)
    if fd.has_presence and not fd.has_default_value:
        return lambda messages: [value(message) if message.HasField(name) else None for message in messages]
    return lambda messages: list(map(value, messages))


def _list(item: Read, declared: pa.ListType) -> Read:
    def read(values: Values, part: Part) -> pa.Array:
        counts = list(map(len, values))
        items = item(list(chain.from_iterable(values)), part.items(counts))
        return pa.ListArray.from_arrays(offsets_of(np.array(counts, np.int64)), items, declared)

    return read


def _struct(read_fields: ReadFields, declared: pa.StructType) -> Read:
    fields = list(declared)

    def read(values: Values, part: Part) -> pa.Array:
        there = [element for element, value in enumerate(values) if value is not None]
        messages = [values[element] for element in there]
        structs = pa.StructArray.from_arrays(read_fields(messages, part.chosen(there)), fields=fields)
        if len(there) == len(values):
            return structs
        places = np.full(len(values), -1, np.int64)
        places[there] = np.arange(len(there))
        return structs.take(pa.array(places, mask=places < 0))

    return read
