"""How sources write values that columns have no room for: NaN, infinity, and days out of years 1 to 9999."""

import math
import re

from pyarrow import types as t

_NUMBERS = {
    "nan": math.nan,
    **dict.fromkeys(("infinity", "+infinity", "inf", "+inf"), math.inf),
    **dict.fromkeys(("-infinity", "-inf"), -math.inf),
}
# As ISO 8601, PostgreSQL and AWS DMS write them; 00-00 is MySQL's day that is none.
_TIME = re.compile(
    r"(?P<sign>[+-]?)(?P<year>\d{4,9})-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])|00-00)"
    r"(?:[T ]\d\d:\d\d:\d\d(?:\.\d+)?)?\s?(?:Z|[+-]\d\d(?::?\d\d)?)?(?P<era> BC)?"
)
_LAST_YEAR = 9999
_MIDDLE_YEAR = 5000
# Debezium's PostgreSQL connector has infinite dates overflow, so that both are long before Christ (debezium/dbz#2721).
_INFINITE_DAYS = {-2_147_472_692: math.inf, -2_147_472_691: -math.inf}
_INFINITE_DATES = {"-5877611-06-21": math.inf, "-5877611-06-22": -math.inf}


def special_number(text: str) -> float | None:
    """NaN or infinity, as text that is not told apart by case; None for anything else."""
    return _NUMBERS.get(text.lower())


def special_time(text: str, *, beyond: bool) -> float | None:
    """Whether a date or timestamp is before the year 1 or after 9999.

    Args:
        text: as it came.
        beyond: whether it is known to be one of both, such as the last second of 9999 in another zone.

    Returns:
        Infinity with its sign, or None for a text that says something else.
    """
    infinite = _NUMBERS.get(text.lower(), math.nan)
    if math.isinf(infinite):
        return infinite
    form = _TIME.fullmatch(text)
    if form is None:
        return None
    for infinite_date, sign in _INFINITE_DATES.items():
        if text.startswith(infinite_date):
            return sign
    year = int(form["year"])
    if form["sign"] == "-" or form["era"] or year == 0:
        return -math.inf
    if year > _LAST_YEAR:
        return math.inf
    return math.copysign(math.inf, year - _MIDDLE_YEAR) if beyond else None


def special_count(count: int, declared: object) -> float:
    """On which side of the years a number of days or units of time is, which is known to be out of them."""
    if t.is_date(declared) and count in _INFINITE_DAYS:
        return _INFINITE_DAYS[count]
    return math.copysign(math.inf, count)
