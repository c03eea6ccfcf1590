"""Records of several tables whose schema is elsewhere: a text field of the record names the table."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa

from lakehouse.formats.decoded import Decoded, Observed
from lakehouse.formats.json import Routed, RoutedRows
from lakehouse.formats.verdict import RecordError


class RecordDecoder(Protocol):
    """Makes columns of records, or reasons why not."""

    def decode(self, values: pa.BinaryArray | pa.LargeBinaryArray, headers: pa.StringArray | None = None) -> Decoded:
        """Decodes every value to a row or an error."""
        ...


class RoutedRecords:
    """Reads the field that chooses first, then the records of each table by the schema of that table."""

    def __init__(self, route_field: str, route: RecordDecoder, tables: Mapping[str, RecordDecoder]) -> None:
        """Prepares for some routes.

        Args:
            route_field: The field's name.
            route: Reads that field alone.
            tables: What reads the records of each value of the field.
        """
        self._field, self._route, self._tables = route_field, route, dict(tables)

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
            if route in self._tables:
                rows_of.setdefault(route, []).append(row)
            else:
                reason = " names no table of this stream" if route else ", which chooses the table, is missing or null"
                errors[row] = RecordError("unknown_route", f"`{self._field}`{reason}")
        parts: dict[str, RoutedRows] = {}
        for route, places in rows_of.items():
            rows = np.array(places)
            taken = pa.array(rows)
            decoded = self._tables[route].decode(values.take(taken), headers and headers.take(taken))
            observed.extra.update({path: n for path, n in decoded.observed.extra.items() if path != self._field})
            errors.update((places[row], error) for row, error in decoded.errors.items())
            observed.refused[route] += len(decoded.errors)
            accepted = np.delete(np.arange(len(rows)), list(decoded.errors))
            if len(accepted):
                parts[route] = RoutedRows(rows[accepted], decoded.batch.take(pa.array(accepted)))
        return Routed(parts, errors, observed)
