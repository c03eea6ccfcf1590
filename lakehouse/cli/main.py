"""The command itself: its common options, and the one list of its verbs."""

from pathlib import Path
from typing import Annotated

import typer

from lakehouse.cli.accept_loss import accept_loss
from lakehouse.cli.adopt import adopt
from lakehouse.cli.apply import apply
from lakehouse.cli.audit import audit
from lakehouse.cli.context import Context
from lakehouse.cli.derive import derive
from lakehouse.cli.dev import dev
from lakehouse.cli.down import down
from lakehouse.cli.errors import OneLinePerError
from lakehouse.cli.housekeep import housekeep
from lakehouse.cli.jars import jars
from lakehouse.cli.lease import lease
from lakehouse.cli.log import log
from lakehouse.cli.logs import configure_logs
from lakehouse.cli.maintain import maintain
from lakehouse.cli.plan import plan
from lakehouse.cli.produce import produce
from lakehouse.cli.rebuild import rebuild
from lakehouse.cli.release import release
from lakehouse.cli.replay import replay
from lakehouse.cli.reprocess import reprocess
from lakehouse.cli.retire import checkpoint, retire
from lakehouse.cli.run import run
from lakehouse.cli.simulate import simulate
from lakehouse.cli.status import status
from lakehouse.cli.tables import tables
from lakehouse.cli.up import up

app = typer.Typer(
    name="lakehouse",
    cls=OneLinePerError,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="What a person does to a running lakehouse. Exit codes: 0 good, 1 a promise is broken, 2 could not run.",
)


@app.callback()
def common(
    ctx: typer.Context,
    *,
    conf: Annotated[
        Path | None, typer.Option(help="The folder of settings; default: LAKEHOUSE_CONF, or conf/ of the repository.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log every step.")] = False,
) -> None:
    """Options that every verb has."""
    configure_logs(verbose=verbose)
    ctx.obj = Context(conf)


for verb in (
    run,
    dev,
    audit,
    up,
    down,
    status,
    produce,
    plan,
    apply,
    tables,
    log,
    accept_loss,
    adopt,
    replay,
    reprocess,
    derive,
    rebuild,
    checkpoint,
    retire,
    maintain,
    housekeep,
    jars,
):
    app.command()(verb)
app.add_typer(lease, name="lease")
app.add_typer(release, name="release")
app.add_typer(simulate, name="simulate")
