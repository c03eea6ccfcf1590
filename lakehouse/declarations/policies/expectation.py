"""What is expected of a table beyond the rules of single values: keys elsewhere, distributions, faithful conversions.

Each is declared in the table's `expects` and becomes an asset check of its own.
"""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["blocking", "warning"]


@dataclass(frozen=True, kw_only=True)
class References:
    """Every value of some columns is a key of another table; rows where one of them is null are not asked.

    Attributes:
        columns: of this table.
        table: `namespace.table` of the other.
        to: the columns there, in the same order; the same names if empty.
        severity: what a missing key means.
    """

    columns: tuple[str, ...]
    table: str
    to: tuple[str, ...] = ()
    severity: Severity = "blocking"


@dataclass(frozen=True, kw_only=True)
class Rows:
    """So many rows, answered by the snapshot's summary.

    Attributes:
        least: at least so many.
        most: at most so many; no bound if None.
        severity: what another number means.
    """

    least: int = 0
    most: int | None = None
    severity: Severity = "blocking"


@dataclass(frozen=True, kw_only=True)
class Drift:
    """A column is distributed as it used to be: its statistics lie within a robust band of their own history.

    The whole table is looked at: in one that only grows, a late batch weighs what its share of the rows is.

    Attributes:
        column: of numbers, dates, timestamps, truth values or text; not sensitive, since statistics are values.
        tolerance: half the band's width, in scaled median absolute deviations of the history.
        history: how many earlier snapshots with statistics are compared with.
    """

    column: str
    tolerance: float = 5.0
    history: int = 30


@dataclass(frozen=True, kw_only=True)
class SampleOf:
    """A column has the distribution that it has in another table: both are samples of the same thing.

    Attributes:
        column: of this table; neither here nor there sensitive.
        table: `namespace.table` of the other.
        to: the column there; of the same name if None.
        largest: the largest distance allowed: Kolmogorov–Smirnov for numbers, total variation for text; 0 to 1.
    """

    column: str
    table: str
    to: str | None = None
    largest: float = 0.1


@dataclass(frozen=True, kw_only=True)
class SameValues:
    """A conversion changed no value: each value of a column is that of another table's column, in the row of its key.

    What the same means for each pair of types is defined in `lakehouse.contracts.profile.same_value`.

    Attributes:
        column: of this table, converted; of a sensitive one counts are told, and no examples.
        table: `namespace.table` with the original.
        to: the original's column; of the same name if None.
        key: columns by which rows of both tables are matched; the table's key if empty.
    """

    column: str
    table: str
    to: str | None = None
    key: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """A picture of a column, with its outliers and missing values counted; it judges only what is given.

    Attributes:
        column: numeric, date or timestamp.
        unit: for the axis.
        most_missing: the largest share of nulls; not judged if None.
        most_outliers: the largest share of values beyond three interquartile ranges; not judged if None.
    """

    column: str
    unit: str = ""
    most_missing: float | None = None
    most_outliers: float | None = None


Expectation = References | Rows | Drift | SampleOf | SameValues | Histogram
