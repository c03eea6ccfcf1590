"""One type that holds the values of two, as far as a policy allows; and what of it cannot be had."""

from dataclasses import dataclass, field

import pyspark.sql.types as spark

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import check_column_name

_WHOLE = (spark.IntegerType, spark.LongType)


@dataclass
class Merging:
    """Merges types.

    Attributes:
        add: whether a struct may get fields.
        widen: whether a number may get a wider type.
        relax: whether what is required may become optional.
        conflicts: path → what is there and what is wanted, where they do not meet.
        twins: paths of fields that differ from another one in case alone, or have a name that no field can have.
    """

    add: bool = True
    widen: bool = True
    relax: bool = True
    conflicts: dict[str, str] = field(default_factory=dict[str, str])
    twins: list[str] = field(default_factory=list[str])

    def merged(self, have: spark.DataType, want: spark.DataType, path: str) -> spark.DataType:
        """The type that has to be there; `have` where nothing can be done."""
        match have, want:
            case spark.StructType(), spark.StructType():
                return self._struct(have, want, path)
            case spark.ArrayType(), spark.ArrayType():
                element = self.merged(have.elementType, want.elementType, f"{path}.element")
                return spark.ArrayType(element, have.containsNull or (want.containsNull and self.relax))
            case spark.MapType(), spark.MapType() if have.keyType == want.keyType:
                value = self.merged(have.valueType, want.valueType, f"{path}.value")
                return spark.MapType(
                    have.keyType, value, have.valueContainsNull or (want.valueContainsNull and self.relax)
                )
            case _ if _holds(have, want):
                return have
            case _ if self.widen and _widens(have, want):
                return want
            case _:
                self.conflicts[path] = f"{have.simpleString()}, and records have {want.simpleString()}"
                return have

    def _struct(self, have: spark.StructType, want: spark.StructType, path: str) -> spark.StructType:
        wanted = {inner.name: inner for inner in want.fields}
        fields: list[spark.StructField] = []
        for inner in have.fields:
            other = wanted.pop(inner.name, None)
            kind = (
                inner.dataType
                if other is None
                else self.merged(inner.dataType, other.dataType, _field_path(path, inner))
            )
            nullable = inner.nullable or (self.relax and (other is None or other.nullable))
            if other is None and not nullable:
                self.conflicts[_field_path(path, inner)] = "required, and records lack it"
            fields.append(spark.StructField(inner.name, kind, nullable, inner.metadata))
        folded = {inner.name.casefold() for inner in fields}
        for inner in wanted.values():
            if not self.add:
                continue
            if inner.name.casefold() in folded or not _is_field(path, inner.name):
                self.twins.append(_field_path(path, inner))
                continue
            folded.add(inner.name.casefold())
            fields.append(spark.StructField(inner.name, optional(inner.dataType), nullable=True))
        return spark.StructType(fields)


def optional(kind: spark.DataType) -> spark.DataType:
    """The type, in which everything may be null: nobody has declared that it is required."""
    match kind:
        case spark.StructType():
            return spark.StructType([spark.StructField(f.name, optional(f.dataType)) for f in kind.fields])
        case spark.ArrayType():
            return spark.ArrayType(optional(kind.elementType))
        case spark.MapType():
            return spark.MapType(kind.keyType, optional(kind.valueType))
        case _:
            return kind


def _field_path(path: str, inner: spark.StructField) -> str:
    return f"{path}.{inner.name}"


def _is_field(path: str, name: str) -> bool:
    try:
        check_column_name(path, name, nested=True)
    except DeclarationError:
        return False
    return True


def _holds(have: spark.DataType, want: spark.DataType) -> bool:
    """Whether a column takes all values of a type as it is."""
    if have == want or (isinstance(have, spark.LongType) and isinstance(want, spark.IntegerType)):
        return True
    if isinstance(have, spark.DoubleType | spark.FloatType):
        return isinstance(want, _WHOLE) or (isinstance(have, spark.DoubleType) and isinstance(want, spark.FloatType))
    if isinstance(have, spark.DecimalType):
        if isinstance(want, _WHOLE):
            return True
        return (
            isinstance(want, spark.DecimalType)
            and have.scale >= want.scale
            and _whole_digits(have) >= _whole_digits(want)
        )
    return False


def _widens(have: spark.DataType, want: spark.DataType) -> bool:
    """As Iceberg does: `schema_changes.evolution.widens`."""
    match have, want:
        case (spark.IntegerType(), spark.LongType()) | (spark.FloatType(), spark.DoubleType()):
            return True
        case spark.DecimalType(), spark.DecimalType():
            return have.scale == want.scale and have.precision < want.precision
        case _:
            return False


def _whole_digits(kind: spark.DecimalType) -> int:
    return kind.precision - kind.scale
