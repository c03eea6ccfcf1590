"""`lakehouse apply`: makes the tables as declared."""

import json
from typing import Annotated

import typer

from lakehouse.cli.commands.run.plan import as_data, show
from lakehouse.cli.context import catalog_of, context_of
from lakehouse.cli.declared import all_declarations, plans_of
from lakehouse.cli.exit_codes import COULD_NOT_RUN
from lakehouse.declarations import apply as apply_plan


def apply(
    ctx: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Create, extend and widen tables as declared; nothing is touched if one difference would lose data."""
    context = context_of(ctx)
    catalog = catalog_of(context)
    plans = plans_of(all_declarations(context), catalog)
    if not plans.refused:
        for planned in plans.to_do:
            apply_plan(planned, catalog)
    if as_json:
        typer.echo(json.dumps(as_data(plans), indent=2))
    else:
        show(context, plans)
    if plans.refused:
        context.err.print("Nothing was changed.")
        raise typer.Exit(COULD_NOT_RUN)
