"""What a condition comes to for all values between two bounds, where that can be told from the bounds alone.

The bounds need not be values themselves: a long text's are cut, the upper one upwards. Equal bounds leave one value.
"""

from typing import Any

import pyarrow as pa
from pyarrow import types as t

from lakehouse.contracts.rules.condition import Both, BoundCondition, Condition, Length, MemberCondition, Text


def holds_between(condition: Condition, lower: Any, upper: Any) -> bool | None:
    """Whether a condition holds for every value (True) or for none (False); None where bounds cannot tell.

    Args:
        condition: of a column's values.
        lower: no value is less than this; days or microseconds for dates and times.
        upper: no value is greater.
    """
    match condition:
        case Both(left, right):
            both = holds_between(left, lower, upper), holds_between(right, lower, upper)
            return False if False in both else None if None in both else True
        case BoundCondition(operator, bound):
            return _compared(operator, lower, upper, _plain(bound))
        case MemberCondition(values, wanted):
            is_member = _member(lower, upper, {_plain(value) for value in values})
            return is_member if is_member is None or wanted else not is_member
        case Text("starts_with", prefix) if lower != upper:
            return _begins(lower, upper, prefix)
        case Text() | Length() if lower == upper:
            return condition.holds(pa.array([lower], pa.string()))[0].as_py()
        case _:
            return None


def _plain(value: pa.Scalar) -> Any:
    """As manifests say it."""
    return value.value if t.is_timestamp(value.type) or t.is_date(value.type) else value.as_py()


def _compared(operator: str, lower: Any, upper: Any, bound: Any) -> bool | None:
    match operator:
        case "greater":
            return _either(lower > bound, upper <= bound)
        case "greater_equal":
            return _either(lower >= bound, upper < bound)
        case "less":
            return _either(upper < bound, lower >= bound)
        case "less_equal":
            return _either(upper <= bound, lower > bound)
        case "equal":
            return _either(lower == upper == bound, not lower <= bound <= upper)
        case _:
            return _either(not lower <= bound <= upper, lower == upper == bound)


def _either(always: bool, never: bool) -> bool | None:  # noqa: FBT001
    return True if always else False if never else None


def _member(lower: Any, upper: Any, values: set[Any]) -> bool | None:
    if not any(lower <= value <= upper for value in values):
        return False
    if lower == upper:
        return True
    whole = isinstance(lower, int) and upper - lower < len(values)  # few enough to ask for each
    return True if whole and all(value in values for value in range(lower, upper + 1)) else None


def _begins(lower: str, upper: str, prefix: str) -> bool | None:
    """In order, the texts with a prefix stand side by side."""
    before_all, behind_all = upper < prefix, lower > prefix and not lower.startswith(prefix)
    return _either(lower.startswith(prefix) and upper.startswith(prefix), before_all or behind_all)
