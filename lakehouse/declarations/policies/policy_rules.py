"""What a field of a maintenance policy may be: asked of what was given, and in words for an error."""

import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from lakehouse.declarations.columns.error import DeclarationError

_COLUMN = re.compile(r"\s*(\w+)(\s+(asc|desc))?(\s+nulls\s+(first|last))?\s*", re.IGNORECASE)
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class FieldRule:
    """What a field may be.

    Attributes:
        words: for the error.
        holds: asked of the value, of whatever type it is.
    """

    words: str
    holds: Callable[[Any], bool]

    def __or__(self, other: "FieldRule") -> "FieldRule":
        """Either of two."""
        return FieldRule(f"{self.words}, or {other.words}", lambda value: self.holds(value) or other.holds(value))


def require(part: object, **rules: FieldRule) -> None:
    """Refuse a part of a policy of which a field is not what it may be; later rules may count on earlier ones.

    Raises:
        DeclarationError: names the field, what was given and what it may be.
    """
    for name, rule in rules.items():
        value = getattr(part, name)
        if not rule.holds(value):
            raise DeclarationError(
                f"{type(part).__name__}.{name} is {value!r}, which cannot work: it may be {rule.words}.",
                remedy='docs/reference/maintenance.md, "Every number", tells what it does',
            )


def warn_of_gone(field: str, instead: str) -> None:
    """Name a field that has no effect any more, where a declaration still has it. It goes with the next release."""
    # Of the kinds of warning for what goes, the one that Python shows by itself; the declaration is three calls up.
    warnings.warn(
        f"{field} has no effect and goes with the next release: {instead}. Remedy: remove it from the declaration.",
        FutureWarning,
        stacklevel=4,
    )


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(text, str) for text in value)


NONE = FieldRule("None", lambda value: value is None)
FLAG = FieldRule("True or False", lambda value: isinstance(value, bool))
TEXT = FieldRule("a text", lambda value: isinstance(value, str))
NAMES = FieldRule("a tuple of names of columns, such as ('id', 'day')", _texts)
ORDER = FieldRule(
    "a tuple of columns with directions, such as ('_kafka_offset desc',)",
    lambda value: _texts(value) and bool(value) and all(_COLUMN.fullmatch(column) for column in value),
)


def one_of(*choices: str) -> FieldRule:
    """One of some words."""
    return FieldRule(
        f"one of {', '.join(map(repr, choices))}", lambda value: isinstance(value, str) and value in choices
    )


def whole(at_least: int, *, also: str = "") -> FieldRule:
    """A whole number; `also` says where its least value comes from."""
    return FieldRule(f"a whole number of at least {at_least}{also}", lambda value: _whole(value) and value >= at_least)


def size(at_least: int, *, also: str = "") -> FieldRule:
    """So many bytes."""
    return FieldRule(
        f"a whole number of bytes (64 MiB are 64 * 1024**2) of at least {at_least}{also}",
        lambda value: _whole(value) and value >= at_least,
    )


def number(description: str, predicate: Callable[[float], bool]) -> FieldRule:
    """Any number of which something holds."""
    return FieldRule(f"a number {description}", lambda value: _number(value) and predicate(value))


def time(at_least: timedelta = timedelta(0)) -> FieldRule:
    """A time that is at least so long."""
    bound = f"of at least {at_least // _DAY} day" if at_least else "that is not negative"
    return FieldRule(
        f"a timedelta, such as timedelta(days=3), {bound}",
        lambda value: isinstance(value, timedelta) and value >= at_least,
    )


def some_time() -> FieldRule:
    """A time above 0."""
    return FieldRule(
        "a timedelta, such as timedelta(days=3), above 0",
        lambda value: isinstance(value, timedelta) and value > timedelta(0),
    )


def made_of(part: type[Any]) -> FieldRule:
    """A part of a policy, or None for what is never to be done."""
    return FieldRule(f"{part.__name__}(…)", lambda value: isinstance(value, part)) | NONE
