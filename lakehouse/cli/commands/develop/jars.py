"""`lakehouse jars`: bring the JARs that Spark and the broker load, and check them."""

import typer

from lakehouse.cli.context import context_of
from lakehouse.cli.processes.prerequisites import SETS, bring_jars, jar_projects


def jars(ctx: typer.Context) -> None:
    """Bring what is missing of the locked JARs, from LAKEHOUSE_JARS or by Maven, and verify all by SHA-256.

    Beside those of Spark and of the broker these are the ones that the chosen catalog asks for: of its cloud, or of
    PostgreSQL.
    """
    context = context_of(ctx)
    for project in dict.fromkeys([*SETS, *jar_projects(context.settings)]):
        number, name = bring_jars(context.settings, project, context.err), SETS.get(project, project.rpartition("/")[2])
        context.err.print(f"{number} JARs of {name} verified", highlight=False)
