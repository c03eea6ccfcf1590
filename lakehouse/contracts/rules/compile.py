"""From pandera's checks to conditions. What has no exact counterpart is refused here, not when data comes."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pandera.api.checks import Check
from pyarrow import types as t

from lakehouse.contracts.rules.condition import Both, BoundCondition, Condition, Length, MemberCondition, Text
from lakehouse.errors import LakehouseError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_FLAGS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s"}


class UnknownRule(LakehouseError):
    """A check that cannot be judged for records."""


def compile_check(where: str, check: Check, kind: pa.DataType) -> Condition:
    """A pandera check as a condition on a column.

    Args:
        where: Table and column, for errors.
        check: One of pandera's built-in checks of single values.
        kind: The column's type in Arrow.

    Raises:
        UnknownRule: The check is not built in, looks at more than single values, or does not fit the column.
    """
    make = _MAKERS.get(str(check.name))
    if make is None or check.groupby is not None or not check.statistics:
        raise UnknownRule(
            f"{where}: the check '{check.name}' cannot be judged record by record.",
            remedy=f"use pandera's built-in checks: {', '.join(sorted(_MAKERS))}.",
        )
    if t.is_nested(kind):
        raise UnknownRule(f"{where}: a rule for values on type {kind}.", remedy="remove the rule.")
    return make(_Argument(where, kind), check.statistics)


class _Argument:
    """Turns arguments of a check into values of the column's type; says where when that cannot be."""

    def __init__(self, where: str, kind: pa.DataType) -> None:
        self._where = where
        # Batches of records have small strings, declarations large ones.
        self._kind = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(kind, kind)

    def value(self, value: Any) -> pa.Scalar:
        try:
            return self._exact(value)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError, OverflowError) as error:
            raise UnknownRule(
                f"{self._where}: the rule compares with {value!r}, which is no value of type {self._kind}.",
                remedy="write the rule's argument in the column's own type.",
            ) from error

    def _exact(self, value: Any) -> pa.Scalar:
        kind = self._kind
        # A number that is none equals nothing, not even itself, so no rule can mean it.
        if isinstance(value, bool) != t.is_boolean(kind) or value is None or value != value:  # noqa: PLR0124
            raise ValueError(value)
        if t.is_timestamp(kind) and (getattr(value, "tzinfo", None) is None) != (kind.tz is None):
            raise ValueError(value)
        if t.is_decimal(kind):
            value = Decimal(str(value))
        if t.is_integer(kind) and isinstance(value, float):
            if not value.is_integer():
                raise ValueError(value)
            value = int(value)
        return pa.scalar(0.0 if t.is_floating(kind) and value == 0 else value, kind)

    def values(self, values: Any) -> pa.Array:
        return pa.array([self.value(value).as_py() for value in values if value is not None], self._kind)

    def text(self) -> None:
        if not t.is_string(self._kind):
            raise UnknownRule(f"{self._where}: a rule for text on type {self._kind}.", remedy="remove the rule.")

    def regex(self, pattern: Any, *, at_start: bool) -> str:
        self.text()
        source = pattern
        if isinstance(pattern, re.Pattern):
            flags = "".join(letter for flag, letter in _FLAGS.items() if pattern.flags & flag)
            unknown = pattern.flags & ~(re.UNICODE | re.IGNORECASE | re.MULTILINE | re.DOTALL)
            source = None if unknown else f"(?{flags}:{pattern.pattern})" if flags else pattern.pattern
        try:
            wanted = rf"\A(?:{source})" if at_start else str(source)
            pc.match_substring_regex(pa.array([""]), wanted)
        except pa.ArrowInvalid as error:
            source, wanted = None, str(error)
        if source is None:
            raise UnknownRule(
                f"{self._where}: the pattern {pattern!r} cannot be judged by RE2.",
                remedy="write it without look-around, back references or flags other than i, m and s.",
            )
        return wanted


_Statistics = Mapping[str, Any]


def _compared(operator: str, argument: str) -> Callable[[_Argument, _Statistics], Condition]:
    return lambda column, given: BoundCondition(operator, column.value(given[argument]))


def _in_range(column: _Argument, given: _Statistics) -> Condition:
    above = "greater_equal" if given.get("include_min", True) else "greater"
    below = "less_equal" if given.get("include_max", True) else "less"
    return Both(
        BoundCondition(above, column.value(given["min_value"])), BoundCondition(below, column.value(given["max_value"]))
    )


def _affix(function: str) -> Callable[[_Argument, _Statistics], Condition]:
    def make(column: _Argument, given: _Statistics) -> Condition:
        column.text()
        return Text(function, given["string"])

    return make


def _length(column: _Argument, given: _Statistics) -> Condition:
    column.text()
    exact = given.get("exact_value")
    if exact is not None:
        return Length(exact, exact)
    return Length(given.get("min_value"), given.get("max_value"))


_MAKERS: dict[str, Callable[[_Argument, _Statistics], Condition]] = {
    "equal_to": _compared("equal", "value"),
    "not_equal_to": _compared("not_equal", "value"),
    "greater_than": _compared("greater", "min_value"),
    "greater_than_or_equal_to": _compared("greater_equal", "min_value"),
    "less_than": _compared("less", "max_value"),
    "less_than_or_equal_to": _compared("less_equal", "max_value"),
    "in_range": _in_range,
    "isin": lambda column, given: MemberCondition(column.values(given["allowed_values"]), wanted=True),
    "notin": lambda column, given: MemberCondition(column.values(given["forbidden_values"]), wanted=False),
    "str_matches": lambda column, given: Text("match_substring_regex", column.regex(given["pattern"], at_start=True)),
    "str_contains": lambda column, given: Text("match_substring_regex", column.regex(given["pattern"], at_start=False)),
    "str_startswith": _affix("starts_with"),
    "str_endswith": _affix("ends_with"),
    "str_length": _length,
}
