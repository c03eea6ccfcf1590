"""Expressions that several steps of the fold share: positions as literals, a hash that nulls do not change."""

from collections.abc import Iterable

import pyspark.sql.types as spark
from pyspark.sql import Column as Expression
from pyspark.sql import functions as sql

from lakehouse.steps.cdc.position import ChangePosition

# Of a column that nobody has said anything of: older than every position.
NEVER = ChangePosition(-1, -1, -1)

_WIDER: dict[type[spark.DataType], spark.DataType] = {
    spark.IntegerType: spark.LongType(),
    spark.FloatType: spark.DoubleType(),
}


def literal(position: ChangePosition) -> Expression:
    """A position as a struct."""
    return sql.struct(*(sql.lit(part).cast("bigint").alias(name) for name, part in position._asdict().items()))


def solid(position: Expression) -> Expression:
    """A position in which nothing is nullable, as the tables want it; what is null was never said."""
    never = NEVER._asdict().items()
    return sql.struct(*(sql.coalesce(position[name], sql.lit(part).cast("bigint")).alias(name) for name, part in never))


def left_out() -> Expression:
    """Whether a row of a changelog is a change of key whose insert does not send every value."""
    return (sql.col("operation") == "insert") & sql.col("other_key").isNotNull() & (sql.size("unavailable") > 0)


def field(struct: str, name: str) -> Expression:
    """A field of a struct, whatever its name is."""
    return sql.col(f"{struct}.`{name}`")


def hashed(parts: Iterable[tuple[str, Expression, spark.DataType]]) -> Expression:
    """A 64-bit hash of what is not null, each value with its name.

    A column that is added later, null in everything older, changes no hash; nor does a type that is widened.
    """
    pieces: list[Expression] = []
    for name, value, kind in sorted(parts, key=lambda part: part[0]):
        # xxhash64 passes over nulls: then the name must be passed over as well.
        pieces += [sql.when(value.isNotNull(), sql.lit(name)), _hashable(value, kind)]
    return sql.xxhash64(*pieces)


def _hashable(value: Expression, kind: spark.DataType) -> Expression:
    wide = _widest(kind)
    value = value if wide == kind else value.cast(wide)
    if not isinstance(kind, spark.StructType | spark.ArrayType | spark.MapType):
        return value
    # As text: xxhash64 takes no maps, and would pass over nulls in arrays. JSON leaves out the null fields of structs.
    return sql.when(value.isNotNull(), sql.to_json(sql.struct(value.alias("v"))))


def _widest(kind: spark.DataType) -> spark.DataType:
    """The type to which any may be widened that this one was widened to."""
    match kind:
        case spark.DecimalType():
            return spark.DecimalType(38, kind.scale)
        case spark.StructType():
            return spark.StructType([spark.StructField(f.name, _widest(f.dataType)) for f in kind.fields])
        case spark.ArrayType():
            return spark.ArrayType(_widest(kind.elementType))
        case spark.MapType():
            return spark.MapType(_widest(kind.keyType), _widest(kind.valueType))
        case _:
            return _WIDER.get(type(kind), kind)
