"""The command itself: its common options, and the one list of its verbs."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from lakehouse.cli.commands.develop.dev import dev
from lakehouse.cli.commands.develop.down import down
from lakehouse.cli.commands.develop.init import init
from lakehouse.cli.commands.develop.jars import jars
from lakehouse.cli.commands.develop.produce import produce
from lakehouse.cli.commands.develop.simulate import simulate
from lakehouse.cli.commands.develop.up import up
from lakehouse.cli.commands.environment.verify import verify
from lakehouse.cli.commands.look.catalog import catalog
from lakehouse.cli.commands.look.log import log
from lakehouse.cli.commands.look.status import status
from lakehouse.cli.commands.look.tables import tables
from lakehouse.cli.commands.maintain.backup import backup, restore
from lakehouse.cli.commands.maintain.housekeep import housekeep
from lakehouse.cli.commands.maintain.lease import lease
from lakehouse.cli.commands.maintain.maintain import maintain
from lakehouse.cli.commands.maintain.retire import checkpoint, retire
from lakehouse.cli.commands.prove.audit import audit
from lakehouse.cli.commands.prove.replay import replay
from lakehouse.cli.commands.repair.accept_loss import accept_loss
from lakehouse.cli.commands.repair.adopt import adopt
from lakehouse.cli.commands.repair.rebuild import rebuild
from lakehouse.cli.commands.repair.reprocess import reprocess
from lakehouse.cli.commands.repair.rollback import forward, rollback
from lakehouse.cli.commands.run.apply import apply
from lakehouse.cli.commands.run.derive import derive
from lakehouse.cli.commands.run.plan import plan
from lakehouse.cli.commands.run.release import release
from lakehouse.cli.commands.run.run import run
from lakehouse.cli.context import Context
from lakehouse.cli.errors import OneLinePerError
from lakehouse.cli.logs import configure_logs
from lakehouse.settings.distribution import refuse_namesake, version

app = typer.Typer(
    name="lakehouse",
    cls=OneLinePerError,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="What a person does to a running lakehouse. "
    "Exit codes: 0 good, 1 a promise is broken, 2 could not run, 130 interrupted.",
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 # as typer calls it
    if wanted:
        typer.echo(f"lakehouse {version()}")
        raise typer.Exit


@app.callback()
def common(
    ctx: typer.Context,
    *,
    conf: Annotated[
        Path | None, typer.Option(help="The folder of settings; default: LAKEHOUSE_CONF, or conf/ of the project.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log every step.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Options that every verb has."""
    refuse_namesake()
    configure_logs(verbose=verbose)
    ctx.obj = Context(conf, verbose=verbose)


PANELS: dict[str, tuple[Callable[..., None] | typer.Typer, ...]] = {
    "Run": (run, derive, release, plan, apply),
    "Look": (status, tables, log, catalog),
    "Prove": (audit, replay, verify),
    "Repair": (accept_loss, adopt, reprocess, rebuild, rollback, forward),
    "Maintain": (maintain, housekeep, lease, checkpoint, retire, backup, restore),
    "Develop": (init, dev, up, down, produce, simulate, jars),
}
for panel, verbs in PANELS.items():
    for verb in verbs:
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, rich_help_panel=panel)
        else:
            app.command(rich_help_panel=panel)(verb)
