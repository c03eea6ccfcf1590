"""The rules between derived tables, releases, expectations and all other declarations."""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Protocol

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.derived import Derived
from lakehouse.declarations.policies.expectation import References, SameValues, SampleOf
from lakehouse.declarations.policies.expectation_rules import check_other_side
from lakehouse.declarations.release import Release
from lakehouse.declarations.table import Table


class Declared(Protocol):
    """What is known when the rules are checked."""

    @property
    def tables(self) -> dict[str, Table]:
        """By name."""
        ...

    @property
    def files(self) -> dict[str, Path]:
        """Where each was declared."""
        ...

    def writer(self, table: str) -> object:
        """What writes a table."""
        ...


def check_derived(derived: Mapping[str, Derived], declared: Declared) -> None:
    """Refuse an input that is not declared, a table with another writer, and a circle.

    Raises:
        DeclarationError: names the derived table and its file.
    """
    for name, one in derived.items():
        where = f"{declared.files[name]}: {name}"
        for input_name in one.inputs.values():
            _require(input_name, f"{where} is computed from", declared)
        if one.table is not declared.tables[name]:
            raise DeclarationError(f"{where} has a table of its own and another writer.", remedy="keep one writer.")
    try:
        order(derived)
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise DeclarationError(
            f"Derived tables are computed from each other in a circle: {circle}.", remedy="break it."
        ) from None


def order(derived: Mapping[str, Derived]) -> list[str]:
    """Names of the derived tables, each after those that it is computed from."""
    graph = {name: set(one.inputs.values()) & derived.keys() for name, one in derived.items()}
    return list(TopologicalSorter(graph).static_order())


def check_releases(releases: Mapping[str, Release], declared: Declared) -> None:
    """Refuse a member that is not declared.

    Raises:
        DeclarationError: names the release and the member.
    """
    for release in releases.values():
        for member in release.members:
            _require(member, f"Release {release.name} has the member", declared)


def check_expectations(declared: Declared) -> None:
    """Refuse an expectation that speaks of a table or column that nobody declared.

    Raises:
        DeclarationError: names the table and what it expects.
    """
    for table in declared.tables.values():
        for expected in table.expects:
            if not isinstance(expected, References | SampleOf | SameValues):
                continue
            where = f"{table.name} expects {type(expected).__name__} of"
            other = _require(expected.table, where, declared)
            there = {column.name for column in other.columns}
            if unknown := sorted(set(_columns_there(expected)) - there):
                raise DeclarationError(
                    f"{where} {other.name}, which has no column {', '.join(unknown)}.", remedy="name its columns."
                )
            if not isinstance(expected, References):
                check_other_side(table, expected, other)


def _columns_there(expected: References | SampleOf | SameValues) -> tuple[str, ...]:
    if isinstance(expected, References):
        return expected.to or expected.columns
    matched = expected.key if isinstance(expected, SameValues) else ()
    return (expected.to or expected.column, *matched)


def _require(name: str, where: str, declared: Declared) -> Table:
    if name not in declared.tables:
        raise DeclarationError(
            f"{where} {name}, which is not declared.",
            remedy=f"declare it, or use one of {', '.join(sorted(declared.tables))}.",
        )
    return declared.tables[name]
