"""`lakehouse init`: a project of one's own, from nothing."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from lakehouse.cli.context import context_of
from lakehouse.cli.project import write_project


def init(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where; it is made, and no file in it is replaced.")],
    *,
    demo: Annotated[
        bool, typer.Option("--demo", help="Declare the demo's flights (extra `demo`) in the place of an example.")
    ] = False,
) -> None:
    """Write a project of your own: settings, one example of a topic and its table, and what Dagster needs."""
    context = context_of(ctx)
    files = write_project(folder, demo=demo)
    for file in files:
        context.tell(f"{folder / file}")
    context.err.print(f"Next: cd {shlex.quote(str(folder))} && lakehouse run", highlight=False, markup=False)
