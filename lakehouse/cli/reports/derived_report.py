"""What `lakehouse run` says of derived tables and releases: of which vintage they are, and where the plots are."""

from collections.abc import Mapping, Sequence

import dagster as dg
from rich.table import Column, Table
from rich.text import Text

from lakehouse.cli.context import Context
from lakehouse.cli.reports.outcome import RunOutcome
from lakehouse.declarations.registry.derived_rules import order
from lakehouse.orchestration.resources import Lake
from lakehouse.proofs.lineage.computations import computations_of
from lakehouse.protocol.seals.read_group import Pinned
from lakehouse.protocol.seals.seal import Seal
from lakehouse.settings import Parameter
from lakehouse.steps.derived.statement import DeriveStatement
from lakehouse.steps.release.errors import NothingReleased
from lakehouse.steps.release.reading import OpenRelease, open_release

UI = "http://127.0.0.1:3000"
_PICTURE = "](data:image/"


def show_derived(context: Context, lake: Lake, group: Mapping[str, Pinned], outcome: RunOutcome) -> None:
    """Print the derived tables, each after those that it is computed from, and whether they are of one vintage."""
    tables = {name: group[name].sealed for name in order(lake.declarations.derived) if name in group}
    seals = {name: sealed.seal for name, sealed in tables.items() if sealed is not None}
    statements = {
        name: statement for name, seal in seals.items() if (statement := DeriveStatement.from_keys(seal.statement))
    }
    if not statements:
        return
    shown = Table(
        Column("derived table", no_wrap=True),
        Column("rows", justify="right", no_wrap=True),
        Column("seconds", justify="right", no_wrap=True),
        Column("computed from", overflow="fold"),
    )
    for name, statement in statements.items():
        seconds = f"{outcome.step_seconds[name]:.1f}" if name in outcome.step_seconds else ""
        shown.add_row(name, f"{statement.total:,}", seconds, Text(", ").join(computed_from(statement, outcome)))
    context.out.print(shown)
    for line in vintages(seals, statements):
        context.tell(line)


def computed_from(statement: DeriveStatement, outcome: RunOutcome) -> list[Text]:
    """The inputs of a derived table, and of each the checks that failed."""
    failed: dict[str, list[str]] = {}
    for table, check in sorted(outcome.failed_checks):
        failed.setdefault(table, []).append(check)
    return [
        Text.assemble(name, *([(f" ({', '.join(failed[name])} FAILED)", "bold red")] if name in failed else []))
        for name in statement.declared.values()
    ]


def vintages(seals: Mapping[str, Seal], statements: Mapping[str, DeriveStatement]) -> list[str]:
    """A line for each runtime date and set of parameters that derived tables are of: one line, if all is well.

    All is well where they are of one date, and each parameter that several have used is of one value.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    values: dict[str, set[Parameter]] = {}
    for name, statement in statements.items():
        used = _used(seals[name], statement)
        for parameter, value in used.items():
            values.setdefault(parameter, set()).add(value)
        groups.setdefault((seals[name].runtime_date, _in_words(used)), []).append(name)
    days = {day for day, _ in groups}
    if len(days) == 1 and all(len(of_parameter) == 1 for of_parameter in values.values()):
        together = {parameter: of_parameter.pop() for parameter, of_parameter in values.items()}
        tables = f"All {len(statements)} derived tables are" if len(statements) > 1 else f"{next(iter(statements))} is"
        return [f"{tables} of runtime date {days.pop()}, computed with {_in_words(together)}"]
    return [
        f"Of runtime date {day}, computed with {parameters}: {', '.join(names)}"
        for (day, parameters), names in groups.items()
    ]


def _used(seal: Seal, statement: DeriveStatement) -> dict[str, Parameter]:
    used = computations_of(seal)[-1].used
    return {name: value for name, value in statement.parameters.items() if used is None or name in used}


def _in_words(parameters: Mapping[str, Parameter]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in sorted(parameters.items())) or "no parameters"


def show_releases(context: Context, lake: Lake) -> None:
    """Print what readers of each release see now."""
    for name in lake.declarations.releases:
        try:
            released = open_release(lake.catalog, name)
        except NothingReleased:
            context.tell(f"{name} has no release yet")
        else:
            context.tell(f"Readers of {name} see release {released.id}:")
            context.out.print(_members(released))


def _members(released: OpenRelease) -> Table:
    shown = Table(
        Column("member", no_wrap=True),
        Column("rows", justify="right", no_wrap=True),
        Column("runtime date", no_wrap=True),
        Column("snapshot", no_wrap=True),
    )
    for member in released.members:
        rows = "" if member.rows is None else f"{member.rows:,}"
        shown.add_row(member.table, rows, member.runtime_date or "dateless", str(member.snapshot_id))
    return shown


def show_plots(context: Context, outcome: RunOutcome) -> None:
    """Print where Dagster's UI shows the pictures that checks have made."""
    if links := plots(outcome.checks):
        context.tell("Plots, in Dagster's UI (`lakehouse dev`, then [Show Markdown] in the check's report):")
        for link in links:
            context.tell(f"  {link}")


def plots(checks: Mapping[tuple[str, str], dg.AssetCheckEvaluation]) -> Sequence[str]:
    """Addresses of the checks that have made a picture."""
    return [
        f"{UI}/assets/{table.replace('.', '/')}?view=checks&checkDetail={name}"
        for (table, name), check in sorted(checks.items())
        if any(_PICTURE in str(value.value) for value in check.metadata.values())
    ]
