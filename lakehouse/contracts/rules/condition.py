"""One condition on the values of a column, as Arrow computes it for a whole batch.

A condition is made from plain values, so it can be pickled and sent to the workers. It answers true, false, or null for
null: a null breaks no rule, whether a column may be null is said elsewhere.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers


class Condition(Protocol):
    """What a rule asks of every value."""

    def holds(self, column: pa.Array) -> pa.BooleanArray:
        """True where it holds, false where it does not, null where there is no value."""
        ...


@dataclass(frozen=True)
class BoundCondition:
    """The value compared with a bound; `operator` is Arrow's name of the comparison."""

    operator: str
    bound: pa.Scalar

    def holds(self, column: pa.Array) -> pa.BooleanArray:
        """See `Condition`."""
        return pc.call_function(self.operator, [column, self.bound])


@dataclass(frozen=True)
class Both:
    """Two conditions at once."""

    first: Condition
    second: Condition

    def holds(self, column: pa.Array) -> pa.BooleanArray:
        """See `Condition`."""
        return pc.and_(self.first.holds(column), self.second.holds(column))


@dataclass(frozen=True)
class MemberCondition:
    """The value is, or is not, one of some values."""

    values: pa.Array
    wanted: bool

    def holds(self, column: pa.Array) -> pa.BooleanArray:
        """See `Condition`."""
        if pa.types.is_floating(column.type):
            # Sets are looked up by bits, and zero has two: added to one, both are the other.
            column = pc.add(column, pa.scalar(0.0, column.type))
        is_member = pc.is_in(column, value_set=self.values)
        answer = is_member if self.wanted else pc.invert(is_member)
        return pc.if_else(column.is_valid(), answer, pa.scalar(None, pa.bool_())) if column.null_count else answer


@dataclass(frozen=True)
class Text:
    """The text has some property; `function` is one of Arrow's string predicates."""

    function: str
    pattern: str

    def holds(self, column: pa.Array) -> pa.BooleanArray:
        """See `Condition`."""
        return getattr(pc, self.function)(column, self.pattern)


@dataclass(frozen=True)
class Length:
    """The number of characters is within bounds."""

    shortest: int | None
    longest: int | None

    def holds(self, column: pa.Array) -> pa.BooleanArray:
        """See `Condition`."""
        lengths = pc.utf8_length(column)
        enough = pc.greater_equal(lengths, self.shortest or 0)
        return enough if self.longest is None else pc.and_(enough, pc.less_equal(lengths, self.longest))
