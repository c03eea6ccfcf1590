"""The verbs of `lakehouse polaris`."""

import typer

from lakehouse.cli.commands.environment.polaris.check import check, setup
from lakehouse.cli.commands.environment.polaris.plan import apply, plan
from lakehouse.cli.commands.environment.polaris.policies import policies
from lakehouse.cli.commands.environment.polaris.rotate import rotate

polaris = typer.Typer(
    name="polaris", no_args_is_help=True, help="A Polaris server as code: catalogs, principals, roles and their grants."
)
for verb in (plan, apply, rotate, setup, check, policies):
    polaris.command()(verb)


@polaris.callback()
def group() -> None:
    """A Polaris server as code: catalogs, principals, roles and their grants."""
