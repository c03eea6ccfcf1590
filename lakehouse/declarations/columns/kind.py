"""What the values of a column are to somebody who looks at how they are distributed."""

from typing import Literal

import pyspark.sql.types as spark

Kind = Literal["number", "date", "instant", "wall_time", "truth", "text"]

_KINDS: dict[type[spark.DataType], Kind] = {
    spark.IntegerType: "number",
    spark.LongType: "number",
    spark.FloatType: "number",
    spark.DoubleType: "number",
    spark.DecimalType: "number",
    spark.DateType: "date",
    spark.TimestampType: "instant",
    spark.TimestampNTZType: "wall_time",
    spark.BooleanType: "truth",
    spark.StringType: "text",
}
ORDERED: tuple[Kind, ...] = ("number", "date", "instant", "wall_time")


def kind_of(declared: spark.DataType) -> Kind | None:
    """The kind of a type's values; None for binary and nested ones, which have no distribution."""
    return _KINDS.get(type(declared))
