"""How a derived table is computed part by part: by day, by month, or by the values of a column."""

import re
from dataclasses import dataclass
from datetime import date

import pyspark.sql.types as spark
from pyiceberg.transforms import DayTransform, HourTransform, IdentityTransform, MonthTransform

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.storage.layout import HasLayout, partition_terms

_NO_KEY = re.compile(r"[\x00-\x1f\x7f]|\.\.\.")  # as Dagster defines it, and the control characters that it forgets


@dataclass(frozen=True, kw_only=True)
class ByDay:
    """One partition a day, by a date or timestamp column of the table (timestamps in UTC).

    Attributes:
        column: of the derived table.
        start: the first day.
        end: the day after the last; still going on if None.
    """

    column: str
    start: date
    end: date | None = None


@dataclass(frozen=True, kw_only=True)
class ByMonth:
    """One partition a month, by a date or timestamp column of the table (timestamps in UTC).

    Attributes:
        column: of the derived table.
        start: a day of the first month.
        end: the first day of the month after the last; still going on if None.
    """

    column: str
    start: date
    end: date | None = None


@dataclass(frozen=True, kw_only=True)
class ByValue:
    """One partition for each value of a text column.

    Attributes:
        column: of the derived table.
        values: all that there are; a row with another one, or with none, is refused.
    """

    column: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: there are no values, one is given twice, is `*`, or is no key of a partition in Dagster.
        """
        if not self.values or len(set(self.values)) < len(self.values):
            raise DeclarationError(
                f"Partitions by {self.column}: no values, or one twice.", remedy="give each value once."
            )
        if "*" in self.values:  # in seals it stands for all partitions that are not named
            raise DeclarationError(
                f"Partitions by {self.column}: `*` is no value of a partition.", remedy="use another text."
            )
        for value in self.values:
            if _NO_KEY.search(value):
                raise DeclarationError(
                    f"Partitions by {self.column}: {value!r} is no value of a partition.",
                    remedy="leave out `...` and control characters, such as ends of lines: Dagster takes no such key.",
                )


Partitions = ByDay | ByMonth | ByValue


def check_aligned(table: HasLayout, partitions: Partitions) -> None:
    """Refuse partitions that share files: one of them could not be written again without its neighbours.

    Raises:
        DeclarationError: says which partitioning the table needs.
    """
    name = partitions.column
    kind = next((column.type for column in table.columns if column.name == name), None)
    transforms: tuple[type, ...]
    match partitions:
        case ByValue():
            fits, transforms, expected_term = isinstance(kind, spark.StringType), (IdentityTransform,), name
        case ByDay() | ByMonth():
            fits = isinstance(kind, spark.DateType | spark.TimestampType | spark.TimestampNTZType)
            finer = (DayTransform, HourTransform, IdentityTransform)
            daily = isinstance(partitions, ByDay)
            transforms = finer if daily else (MonthTransform, *finer)
            expected_term = f"day({name})" if daily else f"month({name})"
    if not fits:
        raise DeclarationError(
            f"{table.name}: partitioned {type(partitions).__name__} of '{name}', which is "
            f"{'no column' if kind is None else kind.simpleString()}.",
            remedy="days and months go by a date or timestamp, values by a text.",
        )
    if not any(term.source == name and isinstance(term.transform, transforms) for term in partition_terms(table)):
        raise DeclarationError(
            f"{table.name}: partitioned {type(partitions).__name__} of '{name}', but its files are not.",
            remedy=f"declare partitioning=('{expected_term}',).",
        )
