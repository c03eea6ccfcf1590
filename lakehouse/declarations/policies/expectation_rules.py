"""Which expectations of distributions and conversions make sense for which columns.

Statistics are values: least and greatest, quantiles, categories. Of a sensitive column they would appear in pictures
and metadata, and stay in a table of their own; so a distribution of one is refused. Whether a conversion kept its
values can be told by counts alone, so that is allowed.
"""

from collections.abc import Iterable
from typing import Protocol, get_args

from lakehouse.declarations.columns.column import Column, HasColumns
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.kind import ORDERED, kind_of
from lakehouse.declarations.policies.expectation import (
    Drift,
    Expectation,
    Histogram,
    References,
    Rows,
    SameValues,
    SampleOf,
    Severity,
)

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
    declared: set[tuple[type[Expectation], str]] = set()
    for expected in expects:
        _check_values(table.name, expected)
        if not isinstance(expected, Distribution):
            continue
        subject = _subject(table.name, expected)
        if (type(expected), expected.column) in declared:
            raise DeclarationError(f"{subject} is declared twice.", remedy="declare it once: a check's name is unique.")
        declared.add((type(expected), expected.column))
        _check_column(subject, _column(table, expected.column, subject), expected)
        _check_bounds(subject, expected)
        if isinstance(expected, SameValues):
            if not (key := expected.key or table.key):
                raise DeclarationError(f"{subject} knows no key to match rows by.", remedy="give it key=(…,).")
            for name in key:
                _column(table, name, subject)


def check_other_side(table: HasKey, expected: SampleOf | SameValues, other: HasColumns) -> None:
    """Refuse what only the other table's declaration shows to be wrong.

    Raises:
        DeclarationError: names both tables.
    """
    subject = f"{_subject(table.name, expected)}, compared with {other.name}"
    column, other_column = (
        _column(table, expected.column, subject),
        _column(other, expected.to or expected.column, subject),
    )
    if isinstance(expected, SampleOf):
        _check_column(subject, other_column, expected)
    else:
        for name in expected.key or table.key:
            if kind_of(_column(other, name, subject).type) != kind_of(_column(table, name, subject).type):
                raise DeclarationError(
                    f"{subject}: '{name}' is of another type there, so it matches no rows.", remedy="name another key."
                )
    kinds = {kind_of(column.type), kind_of(other_column.type)}
    readable_as_text = isinstance(expected, SameValues) and "text" in kinds and None not in kinds
    if len(kinds) > 1 and not readable_as_text:
        raise DeclarationError(
            f"{subject}: {column.type.simpleString()} and {other_column.type.simpleString()} cannot be compared.",
            remedy="name columns of one kind; an instant and a wall time need a zone before they can be compared.",
        )


def _check_values(table: str, expected: object) -> None:
    """Refuse what a type checker would have named."""
    if not isinstance(expected, Expectation):
        kinds = ", ".join(kind.__name__ for kind in get_args(Expectation))
        raise DeclarationError(
            f"{table}, expects: a {type(expected).__name__} is no expectation.", remedy=f"use one of {kinds}."
        )
    subject = f"{table} expects {type(expected).__name__}"
    severities = get_args(Severity)
    if isinstance(expected, References | Rows) and expected.severity not in severities:
        raise DeclarationError(
            f"{subject}: severity is {expected.severity!r}.", remedy=f"write one of {', '.join(severities)}."
        )
    if isinstance(expected, References) and not expected.columns:
        raise DeclarationError(f"{subject} of no columns.", remedy="name the columns that refer to the other table.")
    if isinstance(expected, Rows):
        numbers = [number for number in (expected.least, expected.most) if number is not None]
        if not all(isinstance(number, int) and number >= 0 for number in numbers) or numbers != sorted(numbers):
            raise DeclarationError(
                f"{subject}: least is {expected.least!r}, most is {expected.most!r}.",
                remedy="write whole numbers from 0, the least not above the most.",
            )


def _check_column(subject: str, column: Column, expected: Distribution) -> None:
    if column.sensitive and not isinstance(expected, SameValues):
        raise DeclarationError(
            f"{subject}: '{column.name}' is sensitive, and statistics are values.",
            remedy="leave it out; a rule on the column, or SameValues, tells counts alone.",
        )
    kind = kind_of(column.type)
    if kind is None or (isinstance(expected, Histogram) and kind not in ORDERED):
        raise DeclarationError(
            f"{subject}: a {column.type.simpleString()} has no such distribution.",
            remedy="name a column of numbers, dates or timestamps"
            + ("." if isinstance(expected, Histogram) else ", or of text."),
        )


def _check_bounds(subject: str, expected: Distribution) -> None:
    match expected:
        case Drift():
            invalid = not (expected.tolerance > 0 and expected.history >= 1)
        case SampleOf():
            invalid = not 0 < expected.largest <= 1
        case Histogram():
            shares = (expected.most_missing, expected.most_outliers)
            invalid = not all(share is None or 0 <= share <= 1 for share in shares)
        case SameValues():
            invalid = False
    if invalid:
        raise DeclarationError(
            f"{subject}: a bound makes no sense.",
            remedy="shares and distances are from 0 to 1, a tolerance is above 0, a history has at least one snapshot.",
        )


def _column(table: HasColumns, name: str, subject: str) -> Column:
    for column in table.columns:
        if column.name == name:
            return column
    raise DeclarationError(
        f"{subject}: {table.name} has no column '{name}'.",
        remedy=f"use one of {', '.join(column.name for column in table.columns)}.",
    )


def _subject(table: str, expected: Distribution) -> str:
    return f"{table} expects {type(expected).__name__} of '{expected.column}'"
