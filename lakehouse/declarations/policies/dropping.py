"""What a stream leaves out of a table on purpose: records that are there already, and records that nobody wants.

What is dropped is counted by partition in the seal, so that the proof of each record goes on to hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import pyspark.sql.types as spark
from pandera.api.checks import Check

from lakehouse.declarations.columns.column import Column
from lakehouse.declarations.columns.error import DeclarationError


@dataclass(frozen=True, kw_only=True)
class DropDuplicates:
    """A record is dropped whose key is in the table already, or came earlier in the same run; the first one stays.

    A record with a null in the key, or in `time`, is never a duplicate.

    Attributes:
        key: columns that identify a record; the table's key if `()`.
        time: column of the event's time; with `within`.
        within: two records of a key are the same event if their times are no further apart. Only rows of these times
            are looked at, so the look-back is bounded. None: whatever their times, and the whole table is looked at, as
            a MERGE does that only inserts.
    """

    key: tuple[str, ...] = ()
    time: str | None = None
    within: timedelta | None = None


def check_dropping(
    table: str,
    columns: Sequence[Column],
    key: tuple[str, ...],
    duplicates: DropDuplicates | None,
    keep: Mapping[str, Check],
) -> None:
    """Refuse rules that cannot work.

    Raises:
        DeclarationError: says what and what to do.
    """
    by_name = {column.name: column for column in columns}
    if unknown := [name for name in keep if name not in by_name]:
        raise DeclarationError(f"{table}, keep: there is no column '{unknown[0]}'.", remedy=_one_of(by_name))
    if duplicates is not None:
        _check_key(table, by_name, duplicates.key or key)
        _check_time(table, by_name, duplicates)


def _check_key(table: str, by_name: Mapping[str, Column], key: tuple[str, ...]) -> None:
    if isinstance(key, str) or not key:
        raise DeclarationError(
            f"{table}, duplicates: no key is named.", remedy="name columns, as key=(…,), or declare the table's key."
        )
    for name in key:
        if name not in by_name:
            raise DeclarationError(f"{table}, duplicates: there is no column '{name}'.", remedy=_one_of(by_name))
        if isinstance(by_name[name].type, spark.StructType | spark.ArrayType | spark.MapType):
            raise DeclarationError(
                f"{table}, duplicates: '{name}' is a {by_name[name].type.typeName()}.",
                remedy="use columns of simple types.",
            )


def _check_time(table: str, by_name: Mapping[str, Column], duplicates: DropDuplicates) -> None:
    if (duplicates.time is None) != (duplicates.within is None):
        raise DeclarationError(f"{table}, duplicates: time and within belong together.", remedy="give both or none.")
    if duplicates.within is not None and duplicates.within < timedelta(0):
        raise DeclarationError(f"{table}, duplicates: within is {duplicates.within}.", remedy="choose 0 or more.")
    column = by_name.get(duplicates.time or "")
    is_time = column is not None and isinstance(column.type, spark.TimestampType | spark.TimestampNTZType)
    if duplicates.time is not None and not is_time:
        raise DeclarationError(
            f"{table}, duplicates: '{duplicates.time}' is no column of timestamps.", remedy="name one that is."
        )


def _one_of(by_name: Mapping[str, Column]) -> str:
    return f"use one of {', '.join(by_name)}."
