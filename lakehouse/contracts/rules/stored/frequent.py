"""Counts values that should not be there, or not as often, and names the most frequent of them: one job."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

ROWS, TEXTS = "_rows", "_texts"
_SHOWN = 5


@dataclass(frozen=True)
class Frequent:
    """Values and their rows.

    Attributes:
        values: how many values.
        rows: how many rows have one of them.
        most: the texts of the most frequent ones, each with its number of rows.
    """

    values: int
    rows: int
    most: tuple[tuple[list[str | None], int], ...]


def most_frequent(frame: DataFrame) -> Frequent:
    """Count a frame of values.

    Args:
        frame: a row for each value, with its number of rows and its texts.
    """
    # Totals beside each value rather than an aggregate of its own: that would compute the values twice.
    all_of_them = Window.partitionBy(f.lit(True))  # Connect warns of a window without a partition
    totals = f.count(f.lit(1)).over(all_of_them).alias("values"), f.sum(ROWS).over(all_of_them).alias("rows")
    top = frame.select(ROWS, TEXTS, *totals).orderBy(f.desc(ROWS), TEXTS).limit(_SHOWN).collect()
    if not top:
        return Frequent(0, 0, ())
    return Frequent(top[0]["values"], top[0]["rows"], tuple((list(row[TEXTS]), row[ROWS]) for row in top))
