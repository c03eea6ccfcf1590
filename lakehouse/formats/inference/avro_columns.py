"""Which columns a writer's Avro schema needs, so that each of its records is a row."""

from collections.abc import Mapping

import pyspark.sql.types as spark

from lakehouse.formats.avro.nodes import AvroType
from lakehouse.formats.inference.proposal import Proposal, ProposedNames, is_name

_PLAIN: Mapping[str, spark.DataType] = {
    "boolean": spark.BooleanType(),
    "int": spark.IntegerType(),
    "long": spark.LongType(),
    "float": spark.FloatType(),
    "double": spark.DoubleType(),
    "bytes": spark.BinaryType(),
    "fixed": spark.BinaryType(),
    "string": spark.StringType(),
    "enum": spark.StringType(),
}
_LOGICAL: Mapping[str, spark.DataType] = {"date": spark.DateType(), "uuid": spark.StringType()}


class _NoColumn(Exception):
    """No column can hold the type; its text says why."""


def columns_of_schema(schema: AvroType) -> tuple[Proposal, ...]:
    """A column for each field of a record; those that no column can hold have no type, and a remark."""
    names = ProposedNames()
    columns: list[Proposal] = []
    for name, node in schema.fields:
        inner, nullable = _without_null(node)
        try:
            columns.append(names.column(name, _type(inner), nullable=nullable))
        except _NoColumn as reason:
            columns.append(Proposal(name, None, nullable, remark=str(reason)))
    return tuple(columns)


def _without_null(node: AvroType) -> tuple[AvroType, bool]:
    """A union with null as its other branch, where there is one."""
    if node.kind != "union":
        return node, node.kind == "null"
    others = tuple(part for part in node.parts if part.kind != "null")
    inner = others[0] if len(others) == 1 else AvroType("union", parts=others)
    return inner, len(others) < len(node.parts)


def _type(node: AvroType) -> spark.DataType:
    match node.kind:
        case "record":
            parts: list[Proposal] = []
            for name, field in node.fields:
                inner, nullable = _without_null(field)
                if not is_name(name):
                    raise _NoColumn(f"its field {name} has a name that no field of a struct can have")
                parts.append(Proposal(name, _type(inner), nullable))
            if not parts or len({part.name.casefold() for part in parts}) < len(parts):
                raise _NoColumn("a record without fields, or with fields that differ in case alone")
            return spark.StructType(
                [spark.StructField(part.name, part.type, part.nullable) for part in parts if part.type is not None]
            )
        case "array":
            inner, nullable = _without_null(node.parts[0])
            return spark.ArrayType(_type(inner), nullable)
        case "map":
            inner, nullable = _without_null(node.parts[0])
            return spark.MapType(spark.StringType(), _type(inner), nullable)
        case "union" | "null":
            raise _NoColumn(f"a value of {' or '.join(part.branch for part in node.parts) or 'nothing but null'}")
        case _:
            return _leaf(node)


def _leaf(node: AvroType) -> spark.DataType:
    if node.logical == "decimal":
        if node.precision > 38:
            raise _NoColumn(f"a decimal of {node.precision} digits, and a column has 38 at most")
        return spark.DecimalType(node.precision, node.scale)
    if node.logical.startswith("local-timestamp"):
        return spark.TimestampNTZType()
    if node.logical.startswith("timestamp"):
        return spark.TimestampType()
    if node.logical == "uuid" and node.kind == "fixed":
        return spark.BinaryType()
    return _LOGICAL.get(node.logical) or _PLAIN[node.kind]
