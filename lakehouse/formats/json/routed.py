"""JSON records of several kinds, each decoded once, against the schema of its own table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import compress
from operator import or_
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from pyarrow import types as t

from lakehouse.formats.decoded import Observed
from lakehouse.formats.json.assembly import Assembly
from lakehouse.formats.json.extra_fields import extra_fields
from lakehouse.formats.json.model import record_model
from lakehouse.formats.json.pieces import no_garbage_collection, pieces
from lakehouse.formats.json.record_parser import RecordParser, field_reader
from lakehouse.formats.json.wire import UndecodableType, small_types
from lakehouse.formats.source_names import QuotedNames, source_schema
from lakehouse.formats.verdict import RecordError


@dataclass(frozen=True, slots=True)
class RoutedRows:
    """The good records of one route.

    Attributes:
        rows: For each row of the batch, which input value it was; ascending.
        batch: The columns of the route's table.
    """

    rows: np.ndarray
    batch: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class Routed:
    """Every input value is a row of exactly one part, or has an error."""

    parts: dict[str, RoutedRows]
    errors: dict[int, RecordError]
    observed: Observed = field(default_factory=Observed)


_Parsed = dict[str, tuple[np.ndarray, list[Any]]]


class RoutedDecoder:
    """Decodes records whose table is named by one of their own fields, a string at the top level.

    The parser knows the models of all tables and picks one by the field, in one pass over the bytes, wherever the field
    stands. What it refuses is looked at again, slowly: first the field alone, by the rules for every field (of two the
    last counts, escapes are resolved), then the record against that table.
    """

    def __init__(
        self,
        route_field: str,
        schemas: Mapping[str, pa.Schema],
        aliases: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """Prepares for some routes.

        Args:
            route_field: The field's name. It may be a column of a table, then of type string.
            schemas: The table's schema for every value of the field.
            aliases: For values of the field, column → what records call it, where that is not its name.

        Raises:
            UndecodableType: A column's type has no JSON form.
        """
        self._field = route_field
        self._schemas = {route: small_types(schema) for route, schema in schemas.items()}
        self._aliases = {route: dict(of_table) for route, of_table in (aliases or {}).items()}
        self._quoted = QuotedNames(alias for of_table in self._aliases.values() for alias in of_table.values())
        self._named = {
            route: source_schema(schema, self._aliases.get(route, {})) for route, schema in self._schemas.items()
        }
        aliases_of = {route: self._aliases.get(route, {}) for route in schemas}
        known = {aliases_of[route].get(name) or name for route, schema in schemas.items() for name in schema.names}
        self._known = {route_field, *known}
        own = {route: _without(route_field, schema, route) for route, schema in self._named.items()}
        models = {route: record_model(schema, tag_field=route_field, tag=route) for route, schema in own.items()}
        # A union of one model would not insist on the field. What should be of this other kind is looked at again.
        nowhere = record_model(pa.schema([]), tag_field=route_field, tag="\x00".join(["", *models]))
        self._own = own
        self._names = list(own)
        self._codes: dict[type, int] = {model: code for code, model in enumerate(models.values())} | {nowhere: -1}
        self._any = RecordParser(reduce(or_, [*models.values(), nowhere]))
        self._each = {route: RecordParser(record_model(schema)) for route, schema in own.items()}
        self._route = field_reader(route_field)

    def __reduce__(
        self,
    ) -> tuple[type["RoutedDecoder"], tuple[str, dict[str, pa.Schema], dict[str, dict[str, str]]]]:
        return RoutedDecoder, (self._field, self._schemas, self._aliases)

    def decode(self, values: pa.BinaryArray | pa.LargeBinaryArray) -> Routed:
        """Decodes every value into the part of its route, or to an error."""
        assemblies = {route: Assembly(schema) for route, schema in self._own.items()}
        rows: dict[str, list[np.ndarray]] = {route: [] for route in self._own}
        errors: dict[int, RecordError] = {}
        observed = extra_fields(values, self._known)
        with no_garbage_collection():
            for start, piece in pieces(self._quoted.hide(values)):
                parsed, refused = self._all_at_once(piece) or self._one_by_one(piece, observed)
                errors.update((start + position, error) for position, error in refused.items())
                for route, (positions, records) in parsed.items():
                    rows[route].append(positions + start)
                    assemblies[route].add(records)
            parts: dict[str, RoutedRows] = {}
            for route, assembly in assemblies.items():
                if rows[route]:
                    before = len(errors)
                    parts[route] = self._part(route, np.concatenate(rows[route]), assembly, errors)
                    observed.refused[route] += len(errors) - before
        return Routed(parts, self._quoted.shown(errors), observed)

    def _all_at_once(self, piece: pa.BinaryArray) -> tuple[_Parsed, dict[int, RecordError]] | None:
        records = self._any.parse_all(piece)
        if records is None:
            return None
        codes = np.fromiter(map(self._codes.__getitem__, map(type, records)), dtype=np.int64, count=len(records))
        parsed: _Parsed = {}
        for code in np.unique(codes).tolist():
            if code < 0:
                return None
            selected = codes == code
            parsed[self._names[code]] = np.flatnonzero(selected), list(compress(records, selected.tolist()))
        return parsed, {}

    def _one_by_one(self, piece: pa.BinaryArray, observed: Observed) -> tuple[_Parsed, dict[int, RecordError]]:
        positions: dict[str, list[int]] = {}
        records: dict[str, list[Any]] = {}
        errors: dict[int, RecordError] = {}
        for position, value in enumerate(piece.to_pylist()):
            route, record = self._parse(value)
            if isinstance(record, RecordError):
                errors[position] = record
                if route:
                    observed.refused[route] += 1
            else:
                positions.setdefault(route, []).append(position)
                records.setdefault(route, []).append(record)
        return {route: (np.array(positions[route]), records[route]) for route in records}, errors

    def _parse(self, value: bytes | None) -> tuple[str, msgspec.Struct | RecordError]:
        """The route and the record in the form of its table; or an error and, for what it is worth, a route."""
        record = self._any.parse(value)
        code = self._codes.get(type(record), -1)
        if code >= 0:
            return self._names[code], record
        header: Any = self._route.parse(value)
        if isinstance(header, RecordError):
            return "", header
        text = bytes(header.f0)
        if text == b"null":
            return "", RecordError("unknown_route", f"`{self._field}`, which chooses the table, is missing or null")
        if not text.startswith(b'"'):
            return "", RecordError("unknown_route", f"`{self._field}`, which chooses the table, is not a string")
        route = msgspec.json.decode(text, type=str)
        if route not in self._each:
            return "", RecordError("unknown_route", f"`{self._field}` names no table of this stream")
        return route, self._each[route].parse(value)

    def _part(self, route: str, rows: np.ndarray, assembly: Assembly, errors: dict[int, RecordError]) -> RoutedRows:
        batch, broken = assembly.finish()
        if broken:
            errors.update((int(rows[row]), error) for row, error in broken.items())
            rows = np.delete(rows, list(broken))
            batch = batch.take(np.delete(np.arange(batch.num_rows), list(broken)))
        schema = self._named[route]
        if self._field in schema.names:
            index = schema.get_field_index(self._field)
            batch = batch.add_column(index, schema.field(index), pa.repeat(route, batch.num_rows))
        return RoutedRows(rows, pa.RecordBatch.from_arrays(batch.columns, schema=self._schemas[route]))


def _without(route_field: str, schema: pa.Schema, route: str) -> pa.Schema:
    """The columns that are to be parsed: the route itself is known."""
    if route_field not in schema.names:
        return schema
    if not t.is_string(schema.field(route_field).type):
        raise UndecodableType(
            f"Field {route_field} chooses the table, but in the table of route {route} it is no string column.",
            remedy="declare the column as string, or leave it out.",
        )
    return schema.remove(schema.get_field_index(route_field))
