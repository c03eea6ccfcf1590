"""Compares converted columns with their originals by key, in one Spark job that gives the driver a single row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyspark.sql.types as spark
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse.contracts.profile.same_value import TypedValue, same
from lakehouse.contracts.short_text import short_text
from lakehouse.engines.spark.naming import quoted_name
from lakehouse.errors import LakehouseError

_HERE, _THERE = "_rows_here", "_rows_there"
_OUTCOMES = ("same", "changed", "lost", "invented")


class KeyNotUnique(LakehouseError):
    """A key that rows are matched by is there more than once, so nobody can say which row was converted to which."""


@dataclass(frozen=True)
class Pair:
    """A converted column and its original.

    Attributes:
        column: here.
        type: as declared here.
        to: the original's name there.
        to_type: as declared there.
        visible: whether an example may show its values, and the key's.
    """

    column: str
    type: spark.DataType
    to: str
    to_type: spark.DataType
    visible: bool


@dataclass(frozen=True)
class ConversionResult:
    """How a conversion went.

    Attributes:
        rows: of the converted table, with a key.
        partners: of those, rows that the original has as well.
        originals: rows of the original that are not here.
        same: values that are the same; null and null among them.
        changed: values that are others now.
        lost: values that are null now.
        invented: nulls that have a value now.
        examples: for each kind of difference at most two: kind, key, original, converted.
    """

    rows: int
    partners: int
    originals: int
    same: int
    changed: int
    lost: int
    invented: int
    examples: tuple[tuple[str, str, str, str], ...] = ()

    @property
    def different(self) -> int:
        """All values that are not the same."""
        return self.changed + self.lost + self.invented


def compare(
    converted: DataFrame, original: DataFrame, key: Sequence[str], pairs: Sequence[Pair], *, names: tuple[str, str]
) -> dict[str, ConversionResult]:
    """Compare columns.

    Rows without a complete key are left out, as are those without a partner, which are counted.

    Args:
        converted: the converted table, pinned.
        original: the original, pinned.
        key: columns of both.
        pairs: what to compare.
        names: of the tables, for the error.

    Raises:
        KeyNotUnique: a key is there twice in one of them.
    """
    converted_rows = _side(converted, key, [(f"_here_{pair.column}", pair.column) for pair in pairs], _HERE)
    original_rows = _side(original, key, [(f"_there_{pair.column}", pair.to) for pair in pairs], _THERE)
    values = [f"_{side}_{pair.column}" for pair in pairs for side in ("here", "there")]
    matched = (
        converted_rows.unionByName(original_rows, allowMissingColumns=True)
        .groupBy(*map(quoted_name, key))
        .agg(
            *(sql.count(side).alias(side) for side in (_HERE, _THERE)),
            *(sql.max(name).alias(name) for name in values),
        )
    )
    both = (sql.col(_HERE) > 0) & (sql.col(_THERE) > 0)
    aggregates: dict[str, SparkColumn] = {
        "rows": sql.coalesce(sql.sum(_HERE), sql.lit(0)),
        "partners": sql.count_if(both),
        "originals": sql.count_if(sql.col(_HERE) == 0),
        "twice_here": sql.count_if(sql.col(_HERE) > 1),
        "twice_there": sql.count_if(sql.col(_THERE) > 1),
    }
    for pair in pairs:
        aggregates |= _questions(pair, key, both)
    [row] = matched.agg(*(column.alias(name) for name, column in aggregates.items())).collect()
    counts = row.asDict()
    for side, name in zip(("twice_here", "twice_there"), names, strict=True):
        if counts[side]:
            raise KeyNotUnique(
                f"{name}: {counts[side]:,} keys ({', '.join(key)}) are there more than once.",
                remedy="match by columns that identify a row in both tables.",
            )
    return {pair.column: _result(pair, counts) for pair in pairs}


def _side(frame: DataFrame, key: Sequence[str], values: Sequence[tuple[str, str]], mark: str) -> DataFrame:
    chosen = frame.dropna(subset=list(key)).select(
        *map(quoted_name, key), *(sql.col(quoted_name(name)).alias(alias) for alias, name in values)
    )
    return chosen.withColumn(mark, sql.lit(1))


def _questions(pair: Pair, key: Sequence[str], both: SparkColumn) -> dict[str, SparkColumn]:
    converted, original = sql.col(f"_here_{pair.column}"), sql.col(f"_there_{pair.column}")
    agree = same(TypedValue(converted, pair.type), TypedValue(original, pair.to_type))
    outcome = (
        sql.when(converted.isNull() & original.isNull(), "same")
        .when(converted.isNull(), "lost")
        .when(original.isNull(), "invented")
        .when(agree, "same")
        .otherwise("changed")
    )
    aggregates = {f"{pair.column}_{name}": sql.count_if(both & (outcome == name)) for name in _OUTCOMES}
    if pair.visible:
        row_key = sql.concat_ws(", ", *(sql.col(quoted_name(name)).cast("string") for name in key))
        example = sql.struct(row_key, original.cast("string"), converted.cast("string"))
        for name in _OUTCOMES[1:]:
            candidate = sql.when(both & (outcome == name), example)
            aggregates |= {
                f"{pair.column}_{name}_first": sql.min(candidate),
                f"{pair.column}_{name}_last": sql.max(candidate),
            }
    return aggregates


def _result(pair: Pair, row: Mapping[str, Any]) -> ConversionResult:
    examples = {
        (name, short_text(row_key), short_text(original), short_text(converted)): None
        for name in _OUTCOMES[1:]
        for end in ("first", "last")
        if (example := row.get(f"{pair.column}_{name}_{end}")) is not None
        for row_key, original, converted in [example]
    }
    counts = {name: int(row[f"{pair.column}_{name}"]) for name in _OUTCOMES}
    sizes = {name: int(row[name]) for name in ("rows", "partners", "originals")}
    return ConversionResult(**sizes, **counts, examples=tuple(examples))
