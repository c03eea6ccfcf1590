"""A writer's schema against a table's: what reads each record's bytes into columns, made once for each schema.

Fields meet by name. The table may lack fields of the writer, which are passed over and named in `extra`. What the
writer lacks is the default of the reader's schema, or null, or the reason why none of its records can be a row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from lakehouse.formats.arrays import offsets_of, ordered
from lakehouse.formats.avro.cursor import Batch, Cursor, Longs
from lakehouse.formats.avro.defaults import encoded_default
from lakehouse.formats.avro.leaves import Read, leaf, text, unfit
from lakehouse.formats.avro.nodes import AvroType
from lakehouse.formats.avro.skipping import Refusal, each_item, skipped
from lakehouse.formats.avro.unions import counterpart, struct_of_branches, values_of_branches
from lakehouse.formats.schema_errors import Unfit
from lakehouse.formats.verdict import RecordError

ReadFields = Callable[[Cursor], list[pa.Array]]


@dataclass(frozen=True)
class Match:
    """What two schemas have to do with each other.

    Attributes:
        read: reads the columns of a table, in its order.
        extra: paths of fields that the table does not have.
    """

    read: ReadFields
    extra: tuple[str, ...]


def match_record(
    node: AvroType, fields: Sequence[pa.Field], names: Mapping[str, str] | None = None, reader: AvroType | None = None
) -> Match:
    """Match a record with columns.

    Args:
        node: the writer's schema.
        fields: the columns.
        names: column → what records call it, where that is another name.
        reader: the reader's schema, for its defaults and aliases.

    Raises:
        Unfit: no record of the writer can be a row.
    """
    matching = _Matching()
    if node.kind != "record":
        raise Unfit(RecordError("not_an_object", f"the writer's schema is {node.kind}, and a row is made of a record"))
    return Match(matching.fields(node, fields, names or {}, "", reader), tuple(matching.extra))


@dataclass
class _Matching:
    extra: list[str] = field(default_factory=list[str])

    def fields(
        self, node: AvroType, fields: Sequence[pa.Field], names: Mapping[str, str], prefix: str, reader: AvroType | None
    ) -> ReadFields:
        """Reads the fields of a record in the order of its bytes, and gives them in the order of the columns."""
        wanted = {names.get(column.name, column.name): place for place, column in enumerate(fields)}
        known = dict(reader.fields) if reader is not None and reader.kind == "record" else {}
        renamed = {alias: name for name, aliases in (reader.aliases if reader else {}).items() for alias in aliases}
        written = {name for name, _ in node.fields}
        steps: list[tuple[int, Read]] = []
        placed: set[int] = set()
        for name, part in node.fields:
            called = name if name in wanted or renamed.get(name) in written else renamed.get(name, name)
            place = wanted.get(called)
            if place is None:
                self.extra.append(f"{prefix}{name}")
                steps.append((-1, skipped(part)))
            else:
                placed.add(place)
                steps.append((place, self.required(part, fields[place], f"{prefix}{called}", known.get(called))))
        for name, place in wanted.items():
            if place not in placed:
                steps.append((place, self._missing(fields[place], name, prefix, reader, known.get(name))))

        def read(cursor: Cursor) -> list[pa.Array]:
            columns: list[pa.Array] = [pa.nulls(0)] * len(fields)
            for place, step in steps:
                array = step(cursor)
                if place >= 0:
                    columns[place] = array
            return columns

        return read

    def _missing(
        self, column: pa.Field, name: str, prefix: str, reader: AvroType | None, default: AvroType | None
    ) -> Read:
        path = f"{prefix}{name}"
        if reader is not None and default is not None and name in reader.defaults:
            encoded = encoded_default(default, reader.defaults[name])
            constant = _constant(_Matching().required(default, column, path, default), encoded)
            return lambda cursor: constant.take(pa.array(np.zeros(len(cursor), np.int64)))
        if not column.nullable:
            raise Unfit(RecordError("missing_field", f"`{path}` is required, and the writer's schema lacks it"))
        return lambda cursor: pa.nulls(len(cursor), column.type)

    def required(self, node: AvroType, column: pa.Field, path: str, reader: AvroType | None) -> Read:
        """A field; where it must not be null and is, its row is marked."""
        read = self.value(node, column.type, path, reader)
        if column.nullable or (node.kind != "null" and all(part.kind != "null" for part in node.parts)):
            return read
        error = RecordError("missing_field", f"`{path}` is required, but missing or null")

        def insist(cursor: Cursor) -> pa.Array:
            array = read(cursor)
            if array.null_count:
                cursor.fail(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)), error)
            return array

        return insist

    def value(self, node: AvroType, declared: pa.DataType, path: str, reader: AvroType | None) -> Read:
        """Values of any type."""
        match node.kind:
            case "union":
                return self._union(node, declared, path, reader)
            case "record" if t.is_struct(declared):
                return _struct(self.fields(node, list(declared), {}, f"{path}.", _only_record(reader)), declared)
            case "array" if t.is_list(declared):
                return self._list(node, declared, path, reader)
            case "map" if t.is_map(declared) and t.is_string(declared.key_type):
                return self._map(node, declared, path, reader)
            case "record" | "array" | "map":
                raise unfit(node, declared, path)
            case _:
                return leaf(node, declared, path)

    def _list(self, node: AvroType, declared: pa.ListType, path: str, reader: AvroType | None) -> Read:
        part = node.parts[0]
        inner = reader.parts[0] if reader is not None and reader.kind == "array" else None
        item = self.required(part, declared.value_field, f"{path}[]", inner)

        def read(cursor: Cursor) -> pa.Array:
            pieces, owners = list[pa.Array](), list[Longs]()

            def read_item(items: Cursor, chosen: Longs) -> None:
                pieces.append(item(items))
                owners.append(chosen)

            counts = each_item(cursor, part.least_bytes, read_item)
            return pa.ListArray.from_arrays(offsets_of(counts), ordered(pieces, owners, declared.value_type), declared)

        return read

    def _map(self, node: AvroType, declared: pa.MapType, path: str, reader: AvroType | None) -> Read:
        part = node.parts[0]
        inner = reader.parts[0] if reader is not None and reader.kind == "map" else None
        item = self.required(part, declared.item_field, f"{path}{{}}", inner)

        def read(cursor: Cursor) -> pa.Array:
            keys, pieces, owners = list[pa.Array](), list[pa.Array](), list[Longs]()

            def read_entry(entries: Cursor, chosen: Longs) -> None:
                keys.append(text(entries, entries.binaries(), f"{path}{{}}"))
                pieces.append(item(entries))
                owners.append(chosen)

            counts = each_item(cursor, part.least_bytes + 1, read_entry)
            entries = ordered(keys, owners, declared.key_type), ordered(pieces, owners, declared.item_type)
            return pa.MapArray.from_arrays(offsets_of(counts), *entries, declared)

        return read

    def _union(self, node: AvroType, declared: pa.DataType, path: str, reader: AvroType | None) -> Read:
        values = [part for part in node.parts if part.kind != "null"]
        if t.is_struct(declared) and len(values) > 1:
            names = {part.branch for part in values}
            if all(member.name in names for member in declared):
                return self._by_branch(node, declared, path)
        parts: list[Read | None] = []
        for part in node.parts:
            inner = counterpart(reader, part)
            parts.append(None if part.kind == "null" else self._branch(part, declared, path, inner))

        return values_of_branches(parts, declared)

    def _branch(self, part: AvroType, declared: pa.DataType, path: str, reader: AvroType | None) -> Read:
        try:
            return self.value(part, declared, path, reader)
        except Unfit as refusal:
            return Refusal(part, declared, refusal.error)

    def _by_branch(self, node: AvroType, declared: pa.StructType, path: str) -> Read:
        """A union as a struct with a field for each branch, of which the one that is there is not null."""
        by_name = {member.name: (place, member) for place, member in enumerate(declared)}
        parts: list[tuple[int, Read] | None] = []
        for part in node.parts:
            place, member = by_name.get(part.branch, (-1, None))
            if part.kind == "null":
                parts.append(None)
            elif member is None:
                error = RecordError("wrong_type", f"`{path}`: the table has no field for {part.branch}")
                parts.append((-1, Refusal(part, declared, error)))
            else:
                parts.append((place, self._branch(part, member.type, f"{path}.{part.branch}", None)))
        return struct_of_branches(parts, declared)


def _constant(read: Read, encoded: bytes) -> pa.Array:
    batch = Batch(pa.array([encoded], pa.binary()))
    array = read(batch.cursor(np.zeros(1, np.int64)))
    if batch.errors:
        raise Unfit(batch.errors[0])
    return array


def _only_record(reader: AvroType | None) -> AvroType | None:
    return counterpart(reader, AvroType("record")) if reader is not None else None


def _struct(read_fields: ReadFields, declared: pa.StructType) -> Read:
    fields = list(declared)
    return lambda cursor: pa.StructArray.from_arrays(read_fields(cursor), fields=fields)
