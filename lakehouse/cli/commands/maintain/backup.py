"""`lakehouse backup` and `lakehouse restore`: an embedded catalog with all its files, as it is at one moment."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from lakehouse.cli.context import AsJson, context_of, print_json
from lakehouse.protocol import backup as backups


def backup(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(help="A new folder; on the same disk files are linked, and take no space.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Copy catalog and tables to a folder while the lakehouse is in use; settings and secrets are not copied."""
    context = context_of(ctx)
    taken = backups.take_backup(context.settings.catalog, folder.resolve())
    contents = taken.contents
    if as_json:
        print_json({**msgspec.to_builtins(contents), "linked": taken.linked, "copied": taken.copied})
        return
    context.tell(
        f"{contents.tables} tables of {contents.taken} are in {folder}: {taken.linked} files linked, "
        f"{taken.copied} copied."
    )
    if taken.linked:
        context.tell("Linked files are lost with this disk. Copy the folder to another one.")
    if contents.outside:
        context.tell(
            f"{contents.outside} files lie outside of the warehouse and are not in it; `lakehouse audit` names the "
            "tables.",
            style="yellow",
        )


def restore(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(help="What `lakehouse backup` has filled.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Put a backup in the place of a lakehouse that is empty."""
    context = context_of(ctx)
    contents = backups.restore(context.settings.catalog, folder.resolve())
    if as_json:
        print_json(msgspec.to_builtins(contents))
        return
    context.tell(f"{contents.tables} tables are as they were at {contents.taken}. Now run `lakehouse audit`.")
