"""Asks Spark: all rules that metadata left open in one aggregate, and at most one more job for examples."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from lakehouse.contracts.rules.stored.examples import ExampleColumns
from lakehouse.contracts.rules.stored.expressions import holds, named
from lakehouse.contracts.rules.stored.questions import ColumnRule
from lakehouse.declarations import Table

_ROWS = "rows"


def breaks(question: ColumnRule, declared: Table) -> Expression:
    """True for the rows that break a rule, and false or null for the others.

    Raises:
        UnknownRule: the rule has no exact counterpart in Spark.
    """
    column = question.column
    if question.condition is None:
        return named(column.name).isNull()
    return ~holds(question.condition, column, f"{declared.name}.{column.name}")


def count_broken(frame: DataFrame, declared: Table, questions: Sequence[ColumnRule]) -> tuple[int, list[int]]:
    """How many rows there are, and how many break each rule: one job.

    Args:
        frame: the rows.
        declared: their table.
        questions: the rules; none if only the rows are to be counted.

    Raises:
        UnknownRule: a rule has no exact counterpart in Spark.
    """
    counts = [f.count_if(breaks(question, declared)).alias(f"rule {n}") for n, question in enumerate(questions)]
    row = _only(frame.agg(f.count(f.lit(1)).alias(_ROWS), *counts))
    return row[0], list(row[1:])


def find_examples(frame: DataFrame, declared: Table, questions: Sequence[ColumnRule]) -> list[tuple[str, ...]]:
    """For each rule a row or two that break it, least and greatest first: one job, whatever their number.

    Nothing of a sensitive column is asked for, let alone told.
    """
    shown = [ExampleColumns.of(question, declared) for question in questions]
    wanted: list[Expression] = []
    for question, show in zip(questions, shown, strict=True):
        example = f.when(breaks(question, declared), show.sorted_row)
        wanted += [f.min(example), f.max(example)]
    row = _only(frame.agg(*(expression.alias(f"example {n}") for n, expression in enumerate(wanted))))
    return [show.in_words(row[2 * n], row[2 * n + 1]) for n, show in enumerate(shown)]


def _only(frame: DataFrame) -> Any:
    (row,) = frame.collect()
    return row
