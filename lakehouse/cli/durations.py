"""How a person writes a length of time on the command line."""

import re
from datetime import timedelta

from lakehouse.errors import LakehouseError

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

_LONGEST = timedelta(days=36_500)  # so that a moment so long ago has a date


class NoDuration(LakehouseError):
    """A text is no length of time."""


def duration(text: str, option: str) -> timedelta:
    """Read `90m`, `24h` or `7d`.

    Args:
        text: what was written.
        option: where, for the message.

    Raises:
        NoDuration: it is something else, or longer than 36,500 days.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if match is None:
        raise NoDuration(f"{option} is {text!r}.", remedy="write a number and a unit, such as 90m, 24h or 7d")
    try:
        length = timedelta(**{_UNITS[match[2]]: float(match[1])})
    except OverflowError:
        length = timedelta.max
    if length > _LONGEST:
        raise NoDuration(f"{option} is {text!r}.", remedy=f"write a length of at most {_LONGEST.days} days")
    return length
