"""Looks for JSON records that do not have just the columns of a table, and says which types would hold what they have.

A strict parser goes over all of them, as fast as the decoder's own. Only where it refuses one are records looked at.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec
import pyarrow as pa
import pyspark.sql.types as spark

from lakehouse.formats.evolution.wanted import Wanted
from lakehouse.formats.inference.sample import SampledValues, merged_values, type_of
from lakehouse.formats.json.model import record_model
from lakehouse.formats.json.pieces import pieces
from lakehouse.formats.json.record_parser import RecordParser
from lakehouse.formats.source_names import source_schema
from lakehouse.formats.verdict import RecordError

OF_TYPES = frozenset({"wrong_type", "out_of_range", "missing_field"})
"""Error classes of records that another table might take."""


class JsonWatch:
    """Looks at the records of one table."""

    def __init__(self, schema: pa.Schema, aliases: Mapping[str, str], *, adds: bool, without: Collection[str]) -> None:
        """Prepares for a table.

        Args:
            schema: its columns.
            aliases: column → what records call it, where that is not its name.
            adds: whether fields that are no columns matter.
            without: fields that are nobody's business.
        """
        known = [
            pa.field(name, pa.string()) for name in without if name not in {aliases.get(n, n) for n in schema.names}
        ]
        named = source_schema(schema, aliases)
        self._strict = RecordParser(record_model(pa.schema([*named, *known]), strict=True))
        self._adds, self._without = adds, frozenset(without)

    def look(self, values: pa.BinaryArray | pa.LargeBinaryArray, errors: Mapping[int, RecordError]) -> Wanted:
        """What records have that the table has not, of a batch of which these were refused."""
        wanted = Wanted()
        for start, piece in pieces(values):
            of_types = {
                n for n in range(start, start + len(piece)) if (e := errors.get(n)) and e.error_class in OF_TYPES
            }
            if not of_types and (not self._adds or self._strict.parse_all(piece) is not None):
                continue
            for row, value in enumerate(piece.to_pylist(), start):
                if row in of_types:
                    self._add(wanted.refused, value)
                elif self._adds and row not in errors and isinstance(self._strict.parse(value), RecordError):
                    self._add(wanted.accepted, value)
        return wanted

    def _add(self, seen: SampledValues, value: bytes | None) -> None:
        try:
            record = None if value is None else msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return  # its first fields were of other types, and no JSON comes after them
        if isinstance(record, dict):
            seen.add({name: inner for name, inner in record.items() if name not in self._without})


@dataclass(frozen=True)
class SourceField:
    """A field as records have it.

    Attributes:
        name: what they call it.
        type: None where no column can hold it, or only null was seen.
        nullable: whether one had null.
    """

    name: str
    type: spark.DataType | None
    nullable: bool


def json_fields(seen: SampledValues, columns: Mapping[str, spark.DataType]) -> list[SourceField]:
    """The fields of some records, in view of the columns that are there.

    Args:
        seen: what the records have.
        columns: what records call it → type of the column.
    """
    return [
        SourceField(name, json_type(inner, columns.get(name)), inner.nulls > 0) for name, inner in seen.fields.items()
    ]


def json_type(seen: SampledValues, have: spark.DataType | None) -> spark.DataType | None:
    """The type that values want: the column's own where it takes them all, else that of the values which it refuses."""
    if not seen.kinds:
        return have
    if have is None:
        return type_of(seen)[0]
    refused = {kind for kind in seen.kinds if not _takes(have, kind)}
    if refused:
        others = SampledValues(seen.times, 0, refused, seen.fields, seen.element, seen.large)
        return type_of(others)[0]
    if isinstance(have, spark.IntegerType) and seen.large:
        return spark.LongType()
    return _nested(seen, have)


def _nested(seen: SampledValues, have: spark.DataType) -> spark.DataType:
    match have:
        case spark.StructType():
            inner = {f.name: f.dataType for f in have.fields}
            fields = [
                spark.StructField(f.name, f.type, f.nullable or seen.fields[f.name].times < seen.times - seen.nulls)
                for f in json_fields(seen, inner)
                if f.type is not None
            ]
            return spark.StructType(fields)
        case spark.ArrayType() if seen.element is not None:
            element = json_type(seen.element, have.elementType) or have.elementType
            return spark.ArrayType(element, seen.element.nulls > 0)
        case spark.MapType():
            values = merged_values(seen)
            return spark.MapType(have.keyType, json_type(values, have.valueType) or have.valueType, values.nulls > 0)
        case _:
            return have


_TEXTS = (spark.StringType, spark.BinaryType, spark.DecimalType)
_NUMBERS = (spark.FloatType, spark.DoubleType, spark.DecimalType)
_TAKES: Mapping[str, tuple[type[spark.DataType], ...]] = {
    "bool": (spark.BooleanType,),
    "long": (spark.IntegerType, spark.LongType, *_NUMBERS),
    "double": _NUMBERS,
    "string": _TEXTS,
    "date": (*_TEXTS, spark.DateType, spark.TimestampType, spark.TimestampNTZType),
    "timestamp": (*_TEXTS, spark.TimestampType, spark.TimestampNTZType),
    "object": (spark.StructType, spark.MapType),
    "list": (spark.ArrayType,),
}


def _takes(have: spark.DataType, kind: str) -> bool:
    return isinstance(have, _TAKES[kind])
