"""The command itself: its common options, and its verbs, of which it imports only the one that is asked for."""

from pathlib import Path
from typing import Annotated, Any

import typer

from lakehouse.cli.context import Context
from lakehouse.cli.exit_on_error import OneLinePerError
from lakehouse.cli.lazy_verb import LazyVerb
from lakehouse.cli.logs import configure_logs
from lakehouse.cli.verbs import PANELS
from lakehouse.settings.installed_package import refuse_namesake, version


class Verbs(OneLinePerError):
    """The group of all verbs."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        for panel, verbs in PANELS.items():
            for verb in verbs:
                self.add_command(LazyVerb(verb, panel))


app = typer.Typer(
    name="lakehouse",
    cls=Verbs,
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
