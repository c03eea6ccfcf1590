"""The decoder of a table that follows its records: second columns take values of other types, and all is watched."""

from collections.abc import Callable, Collection, Mapping
from itertools import chain, combinations

import numpy as np
import pyarrow as pa

from lakehouse.formats.decoded import Decoded, Observed
from lakehouse.formats.evolution.json_fields import OF_TYPES, JsonWatch
from lakehouse.formats.evolution.wanted import Wanted
from lakehouse.formats.frames import RegistrySchemas
from lakehouse.formats.json import JsonDecoder
from lakehouse.formats.json.wire import small_types
from lakehouse.formats.routed_records import RecordDecoder
from lakehouse.formats.verdict import RecordError

FormatDecoder = JsonDecoder | RecordDecoder
MakeDecoder = Callable[[pa.Schema, Mapping[str, str]], FormatDecoder]
_ALL_ERRORS = OF_TYPES | {"schema_unusable"}


def second_columns(schema: pa.Schema, aliases: Mapping[str, str]) -> dict[str, str]:
    """Column that takes values of another type → the column before it that is of the same field of a record."""
    first: dict[str, str] = {}
    second: dict[str, str] = {}
    for name in schema.names:
        source = aliases.get(name, name)
        if source in first:
            second[name] = first[source]
        else:
            first[source] = name
    return second


class EvolvingDecoder:
    """Decodes each record by the first columns of its fields; one that is no row then, by second ones."""

    def __init__(
        self,
        table: str,
        schema: pa.Schema,
        aliases: Mapping[str, str],
        make: MakeDecoder,
        *,
        adds: bool,
        without: Collection[str],
    ) -> None:
        """Prepares for a table.

        Args:
            table: its name, under which is said what records have.
            schema: its columns.
            aliases: column → what records call it, where that is not its name.
            make: makes the decoder of some columns.
            adds: whether fields that are no columns matter.
            without: fields that are nobody's business.
        """
        self.schema = small_types(schema)
        second = second_columns(schema, aliases)
        sets = chain.from_iterable(combinations(second, size) for size in range(len(second) + 1))
        self._table = table
        self._decoders = [_of(schema, aliases, second, chosen, make) for chosen in sets if _apart(second, chosen)]
        own = pa.schema([field for field in schema if field.name not in second])
        of_own = {name: aliases[name] for name in own.names if name in aliases}
        is_json = isinstance(self._decoders[0], JsonDecoder)
        self._watch = (own, of_own, adds, tuple(without)) if is_json else None
        self._look: JsonWatch | None = None

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_look": None}  # a parser does not travel

    def decode(self, values: pa.BinaryArray | pa.LargeBinaryArray, headers: pa.StringArray | None = None) -> Decoded:
        """Decodes every value to a row or an error."""
        first = _decoded(self._decoders[0], values, headers)
        batches, errors = [self._whole(first.batch)], dict(first.errors)
        source = np.arange(len(values))
        height = len(values)
        for decoder in self._decoders[1:]:
            rows = np.array(
                [row for row, error in sorted(errors.items()) if error.error_class in _ALL_ERRORS], np.int64
            )
            if not len(rows):
                break
            again = _decoded(decoder, values.take(pa.array(rows)), headers and headers.take(pa.array(rows)))
            accepted = np.delete(np.arange(len(rows)), list(again.errors))
            if len(accepted):
                batches.append(self._whole(again.batch))
                source[rows[accepted]] = height + accepted
                height += len(rows)
                for row in rows[accepted].tolist():
                    del errors[row]
        batch = batches[0] if len(batches) == 1 else pa.concat_batches(batches).take(pa.array(source))
        observed = Observed(first.observed.schemas, first.observed.extra, first.observed.unresolved)
        observed.wanted[self._table] = self._wanted(values, headers, first.observed, errors)
        return Decoded(batch, errors, observed)

    def _whole(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """All columns, with nulls where the decoder has none."""
        columns = [
            batch.column(field.name) if field.name in batch.schema.names else pa.nulls(batch.num_rows, field.type)
            for field in self.schema
        ]
        # What one set of columns may lack is null there, also where the table does not require it only since then.
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _wanted(
        self,
        values: pa.BinaryArray | pa.LargeBinaryArray,
        headers: pa.StringArray | None,
        observed: Observed,
        errors: Mapping[int, RecordError],
    ) -> Wanted:
        if self._watch is not None:
            own, aliases, adds, without = self._watch
            self._look = self._look or JsonWatch(own, aliases, adds=adds, without=without)
            return self._look.look(values, errors)
        rows = [row for row, error in sorted(errors.items()) if error.error_class in _ALL_ERRORS]
        if not observed.schemas:
            return Wanted(schemas={""}, refused_schemas={""} if rows else set())
        refused = values.take(pa.array(rows, pa.int64()))
        ids = RegistrySchemas(glue=True).ids_in(refused, headers and headers.take(pa.array(rows, pa.int64())))
        return Wanted(schemas=set(observed.schemas), refused_schemas={str(schema) for schema in ids})


def _decoded(
    decoder: FormatDecoder, values: pa.BinaryArray | pa.LargeBinaryArray, headers: pa.StringArray | None
) -> Decoded:
    return decoder.decode(values) if isinstance(decoder, JsonDecoder) else decoder.decode(values, headers)


def _apart(second: Mapping[str, str], chosen: tuple[str, ...]) -> bool:
    """Whether no two of them are of one field."""
    return len({second[name] for name in chosen}) == len(chosen)


def _of(
    schema: pa.Schema,
    aliases: Mapping[str, str],
    second: Mapping[str, str],
    chosen: tuple[str, ...],
    make: MakeDecoder,
) -> FormatDecoder:
    """A decoder in which some second columns take the place of the first ones."""
    left_out = {*(second.keys() - {*chosen}), *(second[name] for name in chosen)}
    fields = [field for field in schema if field.name not in left_out]
    return make(pa.schema(fields), {field.name: aliases[field.name] for field in fields if field.name in aliases})
