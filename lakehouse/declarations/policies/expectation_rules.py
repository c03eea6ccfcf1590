"""Which expectations of distributions and conversions make sense for which columns.

Statistics are values: least and greatest, quantiles, categories. Of a sensitive column they would appear in pictures
and metadata, and stay in a table of their own; so a distribution of one is refused. Whether a conversion kept its
values can be told by counts alone, so that is allowed.
"""

from collections.abc import Iterable
from typing import Protocol

from lakehouse.declarations.columns.column import Column, HasColumns
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.kind import ORDERED, kind_of
from lakehouse.declarations.policies.expectation import Drift, Expectation, Histogram, SameValues, SampleOf

Measured = Drift | SampleOf | Histogram  # those that need statistics
Distribution = Measured | SameValues


class HasKey(HasColumns, Protocol):
    """What the rules need of a table."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        ...


def check_own_side(table: HasKey, expects: Iterable[Expectation]) -> None:
    """Refuse what the table itself shows to be wrong.

    Raises:
        DeclarationError: names table, expectation and column.
    """
    seen: set[tuple[type[Expectation], str]] = set()
    for expected in expects:
        if not isinstance(expected, Distribution):
            continue
        where = _where(table.name, expected)
        if (type(expected), expected.column) in seen:
            raise DeclarationError(f"{where} is declared twice.", remedy="declare it once: a check's name is unique.")
        seen.add((type(expected), expected.column))
        _check_column(where, _column(table, expected.column, where), expected)
        _check_bounds(where, expected)
        if isinstance(expected, SameValues):
            if not (key := expected.key or table.key):
                raise DeclarationError(f"{where} knows no key to match rows by.", remedy="give it key=(…,).")
            for name in key:
                _column(table, name, where)


def check_other_side(table: HasKey, expected: SampleOf | SameValues, other: HasColumns) -> None:
    """Refuse what only the other table's declaration shows to be wrong.

    Raises:
        DeclarationError: names both tables.
    """
    where = f"{_where(table.name, expected)}, compared with {other.name}"
    here, there = _column(table, expected.column, where), _column(other, expected.to or expected.column, where)
    if isinstance(expected, SampleOf):
        _check_column(where, there, expected)
    else:
        for name in expected.key or table.key:
            if kind_of(_column(other, name, where).type) != kind_of(_column(table, name, where).type):
                raise DeclarationError(
                    f"{where}: '{name}' is of another type there, so it matches no rows.", remedy="name another key."
                )
    kinds = {kind_of(here.type), kind_of(there.type)}
    readable_as_text = isinstance(expected, SameValues) and "text" in kinds and None not in kinds
    if len(kinds) > 1 and not readable_as_text:
        raise DeclarationError(
            f"{where}: {here.type.simpleString()} and {there.type.simpleString()} cannot be compared.",
            remedy="name columns of one kind; an instant and a wall time need a zone before they can be compared.",
        )


def _check_column(where: str, column: Column, expected: Distribution) -> None:
    if column.sensitive and not isinstance(expected, SameValues):
        raise DeclarationError(
            f"{where}: '{column.name}' is sensitive, and statistics are values.",
            remedy="leave it out; a rule on the column, or SameValues, tells counts alone.",
        )
    kind = kind_of(column.type)
    if kind is None or (isinstance(expected, Histogram) and kind not in ORDERED):
        raise DeclarationError(
            f"{where}: a {column.type.simpleString()} has no such distribution.",
            remedy="name a column of numbers, dates or timestamps"
            + ("." if isinstance(expected, Histogram) else ", or of text."),
        )


def _check_bounds(where: str, expected: Distribution) -> None:
    match expected:
        case Drift():
            wrong = not (expected.tolerance > 0 and expected.history >= 1)
        case SampleOf():
            wrong = not 0 < expected.largest <= 1
        case Histogram():
            shares = (expected.most_missing, expected.most_outliers)
            wrong = not all(share is None or 0 <= share <= 1 for share in shares)
        case SameValues():
            wrong = False
    if wrong:
        raise DeclarationError(
            f"{where}: a bound makes no sense.",
            remedy="shares and distances are from 0 to 1, a tolerance is above 0, a history has at least one snapshot.",
        )


def _column(table: HasColumns, name: str, where: str) -> Column:
    for column in table.columns:
        if column.name == name:
            return column
    raise DeclarationError(
        f"{where}: {table.name} has no column '{name}'.",
        remedy=f"use one of {', '.join(column.name for column in table.columns)}.",
    )


def _where(table: str, expected: Distribution) -> str:
    return f"{table} expects {type(expected).__name__} of '{expected.column}'"
