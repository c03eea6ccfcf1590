"""`lakehouse plan`: what `lakehouse apply` would do."""

import json
from typing import Annotated

import typer
from rich.table import Table

from lakehouse.cli.context import Context, catalog_of, context_of
from lakehouse.cli.declared import Plans, all_declarations, plans_of
from lakehouse.cli.exit_codes import COULD_NOT_RUN
from lakehouse.quantities import quantity

CHANGES = 1


def plan(
    ctx: typer.Context,
    *,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if there is something to do.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show how the tables differ from their declarations; exit with 2 if a difference would lose data."""
    context = context_of(ctx)
    plans = plans_of(all_declarations(context), catalog_of(context))
    if as_json:
        typer.echo(json.dumps(as_data(plans), indent=2))
    else:
        show(context, plans)
    if plans.refused or context.incomplete:
        raise typer.Exit(COULD_NOT_RUN)
    if exit_code and plans.to_do:
        raise typer.Exit(CHANGES)


def as_data(plans: Plans) -> list[dict[str, object]]:
    """The plans as JSON data."""
    good: list[dict[str, object]] = [
        {
            "table": planned.table.name,
            "exists": planned.base is not None,
            "changes": [{"kind": type(change).__name__, "text": str(change)} for change in planned.changes],
            "refused": [],
        }
        for planned in plans.plans
    ]
    bad: list[dict[str, object]] = [
        {
            "table": refused.table,
            "exists": True,
            "changes": [],
            "refused": [{"problem": p.message, "remedy": p.remedy} for p in refused.problems],
        }
        for refused in plans.refused
    ]
    return sorted([*good, *bad], key=lambda entry: str(entry["table"]))


def show(context: Context, plans: Plans) -> None:
    """Print the plans as a table, and refusals after it."""
    if plans.to_do:
        shown = Table("table", "change")
        for planned in plans.to_do:
            for position, change in enumerate(planned.changes):
                shown.add_row("" if position else planned.table.name, str(change))
        context.out.print(shown)
    elif not plans.refused:
        context.out.print(
            f"{quantity(len(plans.plans), 'table')} {'is' if len(plans.plans) == 1 else 'are'} as declared.",
            highlight=False,
        )
    for refused in plans.refused:
        for problem in refused.problems:
            context.err.print(
                f"refused: {refused.table}: {problem.message}. Remedy: {problem.remedy}",
                soft_wrap=True,
                markup=False,
                highlight=False,
            )
