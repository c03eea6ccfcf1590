"""How a derived table is computed part by part: by day, by month, or by the values of a column."""

from dataclasses import dataclass
from datetime import date

from lakehouse.tables.error import DeclarationError


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
        values: all that there are; a row with another one is refused.
    """

    column: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: there are no values, or one is given twice.
        """
        if not self.values or len(set(self.values)) < len(self.values):
            raise DeclarationError(
                f"Partitions by {self.column}: no values, or one twice.", remedy="give each value once."
            )


Partitions = ByDay | ByMonth | ByValue
