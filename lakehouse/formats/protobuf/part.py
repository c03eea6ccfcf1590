"""Values of one place in a schema, from many records; what cannot be a row marks its record, and no other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import pyarrow as pa

from lakehouse.formats.verdict import RecordError

Values = list[Any]
"""As Google's library has them; None where there is none."""


@dataclass(frozen=True)
class Part:
    """Where values come from.

    Attributes:
        rows: which record each value belongs to.
        refused: record → what is wrong with it; shared by all parts of some records.
    """

    rows: Sequence[int]
    refused: dict[int, RecordError]

    def fail(self, element: int, error: RecordError) -> None:
        """Mark the record of a value; the first reason counts."""
        self.refused.setdefault(self.rows[element], error)

    def chosen(self, elements: Sequence[int]) -> "Part":
        """Of some of the values."""
        return Part([self.rows[element] for element in elements], self.refused)

    def items(self, counts: Sequence[int]) -> "Part":
        """Of the items of lists, each of which has so many."""
        return Part(list(chain.from_iterable(map(repeat, self.rows, counts))), self.refused)


Read = Callable[[Values, Part], pa.Array]


def take_each(values: Values, part: Part, convert: Callable[[Any], Any]) -> Values:
    """Converts every value that is there.

    Args:
        values: to be converted; a null stays one.
        part: whose records are marked where `convert` gives a `RecordError`, and nothing in its place.
        convert: makes of a value what Arrow takes.
    """
    converted: Values = []
    for element, value in enumerate(values):
        result = None if value is None else convert(value)
        if isinstance(result, RecordError):
            part.fail(element, result)
            result = None
        converted.append(result)
    return converted
