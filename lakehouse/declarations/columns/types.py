"""Types in two tongues: Spark's, in which tables are declared, and Iceberg's, in which they are stored.

Only types that both know, and that survive the way there and back, are allowed.
"""

from collections.abc import Callable
from typing import Any

import pyspark.sql.types as spark
from pyiceberg import types as iceberg

from lakehouse.declarations.columns.error import DeclarationError

NextId = Callable[[], int]

_SIMPLE: dict[type[spark.DataType], iceberg.PrimitiveType] = {
    spark.BooleanType: iceberg.BooleanType(),
    spark.IntegerType: iceberg.IntegerType(),
    spark.LongType: iceberg.LongType(),
    spark.FloatType: iceberg.FloatType(),
    spark.DoubleType: iceberg.DoubleType(),
    spark.StringType: iceberg.StringType(),
    spark.BinaryType: iceberg.BinaryType(),
    spark.DateType: iceberg.DateType(),
    spark.TimestampType: iceberg.TimestamptzType(),
    spark.TimestampNTZType: iceberg.TimestampType(),
}
_SIMPLE_BACK: dict[type[iceberg.IcebergType], type[spark.DataType]] = {
    type(stored): declared for declared, stored in _SIMPLE.items()
}


def iceberg_type(declared: spark.DataType, next_id: NextId, path: str) -> iceberg.IcebergType:
    """Translate a declared type.

    Args:
        declared: as written in the declaration.
        next_id: gives each nested field an id.
        path: table and column, for the error.

    Raises:
        DeclarationError: Iceberg has no such type.
    """
    if type(declared) in _SIMPLE and declared == type(declared)():  # not a string with a collation
        return _SIMPLE[type(declared)]
    match declared:
        case spark.DecimalType():
            return iceberg.DecimalType(declared.precision, declared.scale)
        case spark.StructType():
            return iceberg.StructType(*(iceberg_field(field, next_id, path) for field in declared.fields))
        case spark.ArrayType():
            return iceberg.ListType(
                element_id=next_id(),
                element=iceberg_type(declared.elementType, next_id, f"{path}.element"),
                element_required=not declared.containsNull,
            )
        case spark.MapType():
            return iceberg.MapType(
                key_id=next_id(),
                key_type=iceberg_type(declared.keyType, next_id, f"{path}.key"),
                value_id=next_id(),
                value_type=iceberg_type(declared.valueType, next_id, f"{path}.value"),
                value_required=not declared.valueContainsNull,
            )
        case spark.ByteType() | spark.ShortType():
            raise DeclarationError(
                f"{path}: Iceberg has no {declared.simpleString()}.",
                remedy="declare it as int; for bytes of any length use BinaryType.",
            )
        case _:
            raise DeclarationError(
                f"{path}: {declared.simpleString()} cannot be stored.",
                remedy="use boolean, int, long, float, double, decimal, string, binary, date, timestamp with or "
                "without zone, struct, array or map.",
            )


def iceberg_field(field: spark.StructField, next_id: NextId, path: str) -> iceberg.NestedField:
    """Translate a field of a struct with its name, nullability and documentation."""
    return iceberg.NestedField(
        field_id=next_id(),
        name=field.name,
        field_type=iceberg_type(field.dataType, next_id, f"{path}.{field.name}"),
        required=not field.nullable,
        doc=(field.metadata or {}).get("comment") or None,
    )


def spark_type(stored: iceberg.IcebergType) -> spark.DataType:
    """Translate a stored type back.

    Raises:
        ValueError: Spark has no such type, or it cannot be declared.
    """
    if type(stored) in _SIMPLE_BACK:
        return _SIMPLE_BACK[type(stored)]()
    match stored:
        case iceberg.DecimalType():
            return spark.DecimalType(stored.precision, stored.scale)
        case iceberg.StructType():
            return spark.StructType([spark_field(field) for field in stored.fields])
        case iceberg.ListType():
            return spark.ArrayType(spark_type(stored.element_type), containsNull=not stored.element_required)
        case iceberg.MapType():
            return spark.MapType(
                spark_type(stored.key_type), spark_type(stored.value_type), valueContainsNull=not stored.value_required
            )
        case _:
            raise ValueError(f"{stored} cannot be declared")


def spark_field(field: iceberg.NestedField) -> spark.StructField:
    """Translate a stored field back with its name, nullability and documentation."""
    metadata: dict[str, Any] = {"comment": field.doc} if field.doc else {}
    return spark.StructField(field.name, spark_type(field.field_type), nullable=field.optional, metadata=metadata)
