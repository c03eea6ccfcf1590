"""The rules between derived tables, releases, expectations and all other declarations."""

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Protocol

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.derived import Derived
from lakehouse.declarations.policies.expectation import References, SameValues, SampleOf
from lakehouse.declarations.policies.expectation_rules import check_other_side
from lakehouse.declarations.registry.broken import Contradiction
from lakehouse.declarations.registry.mistyped_names import declare_or_use
from lakehouse.declarations.release import Release
from lakehouse.declarations.table import Table
from lakehouse.iceberg.names import is_elsewhere


class Declared(Protocol):
    """What is known when the rules are checked."""

    @property
    def tables(self) -> dict[str, Table]:
        """By name."""
        ...

    @property
    def stopped(self) -> Mapping[str, str]:
        """Table → why it is left out."""
        ...

    @property
    def files(self) -> dict[str, Path]:
        """Where each was declared."""
        ...

    def writer(self, table: str) -> object:
        """What writes a table."""
        ...


def check_derived(derived: Mapping[str, Derived], declared: Declared) -> None:
    """Refuse an input of this catalog that is not declared, a table with another writer, and a circle.

    Raises:
        Contradiction: names the derived table and its file.
    """
    for name, derivation in derived.items():
        subject = f"{declared.files[name]}: {name}"
        for input_name in derivation.inputs.values():
            if not is_elsewhere(input_name):
                _require(input_name, f"{subject} is computed from", declared, tables=[name])
        if derivation.table is not declared.tables[name]:
            raise Contradiction(
                f"{subject} has a table of its own and another writer.", remedy="keep one writer.", tables=[name]
            )
    try:
        order(derived)
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise Contradiction(
            f"Derived tables are computed from each other in a circle: {circle}.",
            remedy="break it.",
            tables=error.args[1],
        ) from None


def order(derived: Mapping[str, Derived]) -> list[str]:
    """Names of the derived tables, each after those that it is computed from."""
    graph = {name: set(derivation.inputs.values()) & derived.keys() for name, derivation in derived.items()}
    return list(TopologicalSorter(graph).static_order())


def check_releases(releases: Mapping[str, Release], declared: Declared) -> None:
    """Refuse a member that is not declared, and releases of each other's pointers in a circle.

    Raises:
        Contradiction: names the releases, and the member.
    """
    for release in releases.values():
        for member in release.members:
            _require(member, f"Release {release.name} has the member", declared, releases=[release.name])
    pointers = {release.pointer: release.name for release in releases.values()}
    try:
        TopologicalSorter({r.pointer: pointers.keys() & r.members for r in releases.values()}).prepare()
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise Contradiction(
            f"Releases have each other's pointers as members in a circle: {circle}.",
            remedy="break it.",
            releases=[pointers[pointer] for pointer in error.args[1]],
        ) from None


def check_expectations(declared: Declared) -> None:
    """Refuse an expectation that speaks of a table or column that nobody declared.

    Raises:
        Contradiction: names the table and what it expects.
    """
    for table in declared.tables.values():
        for expected in table.expects:
            if not isinstance(expected, References | SampleOf | SameValues) or expected.table in declared.stopped:
                continue  # of a table that is stopped its check says so, each time that it is asked
            subject = f"{table.name} expects {type(expected).__name__} of"
            other_table = _require(expected.table, subject, declared, tables=[table.name])
            column_names = {column.name for column in other_table.columns}
            if unknown := sorted(set(_other_columns(expected)) - column_names):
                raise Contradiction(
                    f"{subject} {other_table.name}, which has no column {', '.join(unknown)}.",
                    remedy="name its columns.",
                    tables=[table.name],
                )
            if not isinstance(expected, References):
                _require_other_side(table, expected, other_table)


def _require_other_side(table: Table, expected: SampleOf | SameValues, other: Table) -> None:
    try:
        check_other_side(table, expected, other)
    except DeclarationError as error:
        raise Contradiction(error.message, remedy=error.remedy, tables=[table.name]) from None


def _other_columns(expected: References | SampleOf | SameValues) -> tuple[str, ...]:
    if isinstance(expected, References):
        return expected.to or expected.columns
    matched = expected.key if isinstance(expected, SameValues) else ()
    return (expected.to or expected.column, *matched)


def _require(
    name: str, subject: str, declared: Declared, *, tables: Collection[str] = (), releases: Collection[str] = ()
) -> Table:
    if is_elsewhere(name):
        raise Contradiction(
            f"{subject} {name}, a table of another catalog, which only a derived table may read.",
            remedy="have a derived table bring its rows here, and name that one.",
            tables=tables,
            releases=releases,
        )
    if name not in declared.tables:
        raise Contradiction(
            f"{subject} {name}, which is not declared.",
            remedy=declare_or_use(name, declared.tables),
            tables=tables,
            releases=releases,
            missing=name,
        )
    return declared.tables[name]
