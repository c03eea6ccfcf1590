"""What becomes of values of change data that columns have no room for: NaN, infinity, days out of years 1 to 9999."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import pyspark.sql.types as spark

from lakehouse.declarations.columns.column import Column
from lakehouse.declarations.columns.error import DeclarationError

SpecialValues = Literal["quarantine", "null", "clamp", "text"]
_TYPES = ("float", "double", "decimal", "date", "timestamp", "timestamp_ntz")
_POLICIES = ("quarantine", "null", "clamp")


def check_special_values(name: str, given: object, columns: Iterable[Column], key: Iterable[str]) -> None:
    """Refuse policies that nothing would follow.

    Args:
        name: the changelog, for errors.
        given: Spark's name of a type → what becomes of such values.
        columns: the row's.
        key: names of those that are the key, for which no policy holds.

    Raises:
        DeclarationError: says which type, and what to write.
    """
    if not isinstance(given, Mapping):
        raise DeclarationError(
            f"{name}, special_values: '{given}' is no mapping.", remedy="write it as {'timestamp': 'null'}."
        )
    names = frozenset(key)
    used = {leaf for column in columns if column.name not in names for leaf in _leaves(column.type)}
    for kind, policy in given.items():
        _check_policy(f"{name}, special_values: '{kind}'", kind, policy)
        if kind not in used:
            raise DeclarationError(
                f"{name}, special_values: no column beside the key is a {kind}.",
                remedy="leave it out. In a key such values go to quarantine: two rows could become one.",
            )


def _check_policy(where: str, kind: object, policy: object) -> None:
    if kind == "string":
        if policy != "text":
            raise DeclarationError(f"{where} is '{policy}'.", remedy="a string has room for any text: write 'text'.")
    elif kind not in _TYPES:
        raise DeclarationError(f"{where} is no type.", remedy=f"name one of {', '.join(_TYPES)}, string.")
    elif policy == "text":
        raise DeclarationError(
            f"{where} is 'text', which a {kind} has no room for.",
            remedy="declare the columns as strings, and special_values={'string': 'text'}.",
        )
    elif policy not in _POLICIES:
        raise DeclarationError(f"{where} is '{policy}'.", remedy=f"write one of {', '.join(_POLICIES)}.")


def _leaves(kind: spark.DataType) -> Iterator[str]:
    """Names of the types of all values in a column."""
    match kind:
        case spark.StructType():
            for child in kind.fields:
                yield from _leaves(child.dataType)
        case spark.ArrayType():
            yield from _leaves(kind.elementType)
        case spark.MapType():
            yield from _leaves(kind.valueType)
        case _:
            yield kind.typeName()
