"""Which part of a derived table a run computes: partition keys as Dagster names them, and the rows that are theirs.

The function is not told: what it returns is cut to the part, and the cut reaches its inputs as far as Spark can push it
down. So a function that is right for the whole table is right for each partition.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import pyspark.sql.types as T  # noqa: N812
from pyspark.sql import Column
from pyspark.sql import functions as f

from lakehouse.declarations import ByDay, ByMonth, ByValue, Derived
from lakehouse.engines.spark.naming import quoted_name
from lakehouse.steps.derived.refusals import UnknownPartition

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class DerivedPart:
    """Some partitions of a derived table; all of it if no key is told.

    Args:
        derived: the table.
        keys: as Dagster names them: `2013-05-14`, `2013-05-01` for a month, or a value.
    """

    derived: Derived
    keys: tuple[str, ...] = ()

    @property
    def keyed_by(self) -> str:
        """What keys of the table mean, such as `day(bought_at)`; empty if it has no partitions."""
        by = self.derived.partitions
        return f"{type(by).__name__.removeprefix('By').lower()}({by.column})" if by is not None else ""

    @property
    def replaced(self) -> Column:
        """The rows that the part puts its own in the place of."""
        match self.derived.partitions:
            case _ if not self.keys:
                return f.lit(True)
            case ByValue(column=column):
                return f.col(quoted_name(column)).isin(*self.keys)
            case _:
                return f.expr(" OR ".join(f"({self._between(*window)})" for window in self._windows()))

    @property
    def computed(self) -> Column:
        """The rows that are computed: those of the part, and those of no declared value, which are refused later."""
        stray = self.stray if isinstance(self.derived.partitions, ByValue) else None
        return self.replaced if stray is None else self.replaced | stray

    @property
    def stray(self) -> Column | None:
        """The rows that belong to no declared partition; None where there can be none."""
        match self.derived.partitions:
            case None:
                return None
            case ByValue(column=column, values=values):
                return f.col(quoted_name(column)).isNull() | ~f.col(quoted_name(column)).isin(*values)
            case ByDay() | ByMonth() as time:
                name = quoted_name(time.column)
                first, end = _first(time), time.end
                outside = f"{name} IS NULL OR {name} < {self._moment(first)}"
                return f.expr(outside if end is None else f"{outside} OR {name} >= {self._moment(end)}")

    @property
    def shown(self) -> tuple[str, ...]:
        """The part for a reader: keys, and neighbouring days or months as `first..last`."""
        if not self.keys or isinstance(self.derived.partitions, ByValue):
            return self.keys
        return tuple(
            first.isoformat() if (last := self._last(end)) == first else f"{first}..{last}"
            for first, end in self._windows()
        )

    @property
    def every(self) -> set[str] | None:
        """All declared keys; None where there is no end to them."""
        match self.derived.partitions:
            case ByValue(values=values):
                return set(values)
            case ByDay(end=date() as end) | ByMonth(end=date() as end):
                first = _first(self.derived.partitions)
                return self.keys_in([f"{first}..{end - _DAY}"]) if first < end else set()
            case _:
                return None

    def keys_in(self, shown: Iterable[str]) -> set[str]:
        """The keys that texts as of `shown` stand for; a text that is neither key nor range stands for none."""
        if isinstance(self.derived.partitions, ByValue):
            return set(shown) & set(self.derived.partitions.values)
        keys: set[str] = set()
        for text in shown:
            first, _, last = text.partition("..")
            if first[:1].isdigit():
                day, end = date.fromisoformat(first), date.fromisoformat(last or first)
                while day <= end:
                    keys.add(day.isoformat())
                    day = self._after(day)
        return keys

    def _windows(self) -> Iterator[tuple[date, date]]:
        """First day and day after the last, for each run of neighbouring partitions."""
        begun: tuple[date, date] | None = None
        for first in sorted(date.fromisoformat(key) for key in self.keys):
            if begun is not None and begun[1] == first:
                begun = begun[0], self._after(first)
                continue
            if begun is not None:
                yield begun
            begun = first, self._after(first)
        if begun is not None:
            yield begun

    def _after(self, first: date) -> date:
        return (first.replace(day=1) + 31 * _DAY).replace(day=1) if self._monthly else first + _DAY

    def _last(self, end: date) -> date:
        return (end - _DAY).replace(day=1) if self._monthly else end - _DAY

    @property
    def _monthly(self) -> bool:
        return isinstance(self.derived.partitions, ByMonth)

    def _between(self, first: date, end: date) -> str:
        assert self.derived.partitions is not None
        name = quoted_name(self.derived.partitions.column)
        return f"{name} >= {self._moment(first)} AND {name} < {self._moment(end)}"

    def _moment(self, day: date) -> str:
        """A literal of the column's type: a literal of another one would not reach the manifests."""
        assert self.derived.partitions is not None
        match self.derived.table.column(self.derived.partitions.column).type:
            case T.DateType():
                return f"DATE '{day}'"
            case T.TimestampNTZType():
                return f"TIMESTAMP_NTZ '{day} 00:00:00'"
            case _:
                return f"TIMESTAMP '{day} 00:00:00 UTC'"


def part_of(derived: Derived, keys: Sequence[str]) -> DerivedPart:
    """The part that partition keys name.

    Raises:
        UnknownPartition: a key names no declared partition.
    """
    if isinstance(derived.partitions, ByValue):
        unknown = sorted(set(keys) - set(derived.partitions.values))
    else:
        unknown = [key for key in keys if derived.partitions is None or not _is_key(derived.partitions, key)]
    if unknown:
        raise UnknownPartition(
            f"{derived.name} has no partition {', '.join(unknown)}.", remedy="name partitions as Dagster lists them."
        )
    return DerivedPart(derived, tuple(keys))


def _is_key(by: ByDay | ByMonth, key: str) -> bool:
    try:
        day = date.fromisoformat(key)
    except ValueError:
        return False
    begins = not isinstance(by, ByMonth) or day.day == 1
    return begins and _first(by) <= day and (by.end is None or day < by.end)


def _first(by: ByDay | ByMonth) -> date:
    return by.start.replace(day=1) if isinstance(by, ByMonth) else by.start
