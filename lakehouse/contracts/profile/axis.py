"""Values of ordered columns as positions on an axis of doubles, and positions as a person reads them.

A number is its own position, a date its day and a timestamp its second since 1970; a wall time as if it were in UTC.
"""

import math
from datetime import UTC, date, datetime, timedelta

from lakehouse.declarations import Kind

# Numbers further out have no place: differences, multiples and the sum of any number of places are doubles as well.
FARTHEST = 2.0**960
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400


def position_sql(column: str, kind: Kind) -> str:
    """SQL of a value's position, a double that is null for what has none: null, NaN and what is too far out.

    Args:
        column: quoted.
        kind: one of an ordered column.
    """
    match kind:
        case "date":
            return f"CAST(unix_date({column}) AS DOUBLE)"
        case "instant":
            return f"unix_micros({column}) / 1000000D"
        case "wall_time":
            return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {column}) / 1000000D"
        case _:
            number = f"CAST({column} AS DOUBLE)"
            return f"IF(abs({number}) < {FARTHEST!r}D, {number}, NULL)"


def axis_date_scale(kind: Kind) -> float | None:
    """By what a position is multiplied to be a number of days since 1970; None where it is no time."""
    return {"date": 1.0, "instant": 1 / _DAY, "wall_time": 1 / _DAY}.get(kind)


def shown(position: float, kind: Kind) -> str:
    """A position as text, as short as it can be without a loss that matters to an eye."""
    if kind in ("number", "text", "truth"):
        return _number(position)
    try:
        moment = _EPOCH + timedelta(seconds=position * (_DAY if kind == "date" else 1))
    except OverflowError:  # a timestamp may lie beyond the years that Python knows
        return "before year 1" if position < 0 else "after year 9999"
    return date.isoformat(moment) if kind == "date" or position % _DAY == 0 else f"{moment:%Y-%m-%d %H:%M:%S}"


def _number(value: float) -> str:
    if value == math.floor(value) and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.4g}"
