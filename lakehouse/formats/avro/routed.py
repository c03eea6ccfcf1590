"""Avro records of several tables: a text field or enum of the record names the table."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lakehouse.formats.avro.decoder import AvroDecoder
from lakehouse.formats.avro.schemas import WriterSchemas
from lakehouse.formats.decoded import Observed
from lakehouse.formats.json import Routed, RoutedRows
from lakehouse.formats.verdict import RecordError


class RoutedAvroDecoder:
    """Reads the field that chooses first, then the records of each table by the schema of that table."""

    def __init__(
        self,
        route_field: str,
        schemas: Mapping[str, pa.Schema],
        writers: WriterSchemas,
        aliases: Mapping[str, Mapping[str, str]] | None = None,
        reader: str | None = None,
    ) -> None:
        """Prepares for some routes.

        Args:
            route_field: The field's name.
            schemas: The table's schema for every value of the field.
            writers: The schemas of the records.
            aliases: For values of the field, column → what records call it, where that is not its name.
            reader: As for `AvroDecoder`.
        """
        self._given = (route_field, dict(schemas), writers, aliases, reader)
        self._field = route_field
        self._route = AvroDecoder(pa.schema([pa.field(route_field, pa.string())]), writers, None, reader)
        self._each = {
            route: AvroDecoder(schema, writers, (aliases or {}).get(route), reader) for route, schema in schemas.items()
        }

    def __reduce__(self) -> tuple[type["RoutedAvroDecoder"], tuple[Any, ...]]:
        return RoutedAvroDecoder, self._given

    def decode(self, values: pa.BinaryArray | pa.LargeBinaryArray, headers: pa.StringArray | None = None) -> Routed:
        """Decodes every value into the part of its route, or to an error."""
        chosen = self._route.decode(values, headers)
        observed = Observed(chosen.observed.schemas, unresolved=chosen.observed.unresolved)
        errors = dict(chosen.errors)
        routes = chosen.batch.column(0).to_pylist()
        rows_of: dict[str, list[int]] = {}
        for row, route in enumerate(routes):
            if row in errors:
                continue
            if route in self._each:
                rows_of.setdefault(route, []).append(row)
            else:
                reason = " names no table of this stream" if route else ", which chooses the table, is missing or null"
                errors[row] = RecordError("unknown_route", f"`{self._field}`{reason}")
        parts: dict[str, RoutedRows] = {}
        for route, places in rows_of.items():
            rows = np.array(places)
            taken = pa.array(rows)
            decoded = self._each[route].decode(values.take(taken), headers and headers.take(taken))
            observed.extra.update({path: n for path, n in decoded.observed.extra.items() if path != self._field})
            errors.update((places[row], error) for row, error in decoded.errors.items())
            accepted = np.delete(np.arange(len(rows)), list(decoded.errors))
            if len(accepted):
                parts[route] = RoutedRows(rows[accepted], decoded.batch.take(pa.array(accepted)))
        return Routed(parts, errors, observed)
