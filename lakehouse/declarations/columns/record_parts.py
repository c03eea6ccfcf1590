"""Columns that hold a part of the Kafka record itself: its key, its value, its headers, or one of them."""

import re

import pyspark.sql.types as spark

from lakehouse.declarations.columns.error import DeclarationError

KEY, VALUE, HEADERS = "key", "value", "headers"
HEADER = "header:"
_PART = re.compile(rf"{KEY}|{VALUE}|{HEADERS}|{HEADER}.+", re.DOTALL)


def check_record_part(column: str, part: object, declared: spark.DataType) -> str:
    """The part that a column's metadata names; no text where it names none.

    Args:
        column: table and column, for the error.
        part: what stands under `record` in the metadata.
        declared: the column's type.

    Raises:
        DeclarationError: there is no such part, or it does not fit the type.
    """
    if part == "":
        return ""
    if not isinstance(part, str) or not _PART.fullmatch(part):
        raise DeclarationError(
            f"{column}: a record has no part {part!r}.", remedy="write key, value, headers or header:<name>."
        )
    if part == HEADERS:
        if not _holds_headers(declared):
            raise DeclarationError(
                f"{column}: headers do not fit {declared.simpleString()}.",
                remedy="declare array<struct<key: string, value: binary>>, in which the value may be null.",
            )
    elif declared not in (spark.BinaryType(), spark.StringType()):
        raise DeclarationError(
            f"{column}: the {part} of a record is bytes, and no {declared.simpleString()}.",
            remedy="declare it as binary, or as string if it is UTF-8.",
        )
    return part


def _holds_headers(declared: spark.DataType) -> bool:
    if not isinstance(declared, spark.ArrayType) or not isinstance(declared.elementType, spark.StructType):
        return False
    members = [(field.name, field.dataType) for field in declared.elementType.fields]
    return members == [("key", spark.StringType()), ("value", spark.BinaryType())] and (
        declared.elementType.fields[1].nullable
    )
