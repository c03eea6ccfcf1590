"""Teaches pandera's PySpark engine the types it lacks, so that a declaration can simply name them.

Importing this module is enough. Structs are unknown to pandera 0.35, and it takes a timestamp without zone for one
with a zone, which would silently change what a table means.

Name parametrized types as objects, `DecimalType(10, 2)`: of the text "decimal(10,2)" pandera drops the numbers.
"""

from typing import Any, Self

import pyspark.sql.types as spark
from pandera.dtypes import immutable
from pandera.engines import pyspark_engine


@pyspark_engine.Engine.register_dtype(  # pyright: ignore[reportUntypedClassDecorator]
    equivalents=["TimestampNTZType", "TimestampNTZType()", spark.TimestampNTZType(), spark.TimestampNTZType]
)
@immutable
class TimestampWithoutZone(pyspark_engine.DataType):  # pyright: ignore[reportUntypedBaseClass]
    """A local date and time, `pyspark.sql.types.TimestampNTZType`."""

    type = spark.TimestampNTZType()


@pyspark_engine.Engine.register_dtype(equivalents=[spark.StructType])  # pyright: ignore[reportUntypedClassDecorator]
@immutable(init=True)
class Struct(pyspark_engine.DataType):  # pyright: ignore[reportUntypedBaseClass]
    """A record within a column, `pyspark.sql.types.StructType`."""

    def __init__(self, fields: Any = None) -> None:
        # Not the parent's constructor: it warns about every type that it does not know.
        object.__setattr__(self, "type", spark.StructType(fields))

    @classmethod
    def from_parametrized_dtype(cls, spark_type: spark.StructType) -> Self:
        """Box a struct with its fields."""
        return cls(spark_type.fields)
