"""`lakehouse jars`: bring the JARs that Spark and the broker load, and check them."""

import typer

from lakehouse.cli.context import context_of
from lakehouse.cli.processes.prerequisites import SETS, bring_jars


def jars(ctx: typer.Context) -> None:
    """Bring what is missing of the locked JARs, from LAKEHOUSE_JARS or by Maven, and verify all by SHA-256."""
    context = context_of(ctx)
    for project, name in SETS.items():
        number = bring_jars(context.settings, project, context.err)
        context.err.print(f"{number} JARs of {name} verified", highlight=False)
