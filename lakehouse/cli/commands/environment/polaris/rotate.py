"""`lakehouse polaris rotate`: new credentials, into the file that a person names."""

from pathlib import Path
from typing import Annotated

import typer

from lakehouse.cli.commands.environment.polaris.chosen_server import NameOption, server_of
from lakehouse.cli.context import context_of


def rotate(
    ctx: typer.Context,
    principals: Annotated[list[str], typer.Argument(help="Whose credentials.")],
    *,
    secrets: Annotated[Path, typer.Option(help="The file that has the credentials, and gets the new ones.")],
    server: NameOption = "",
    reset: Annotated[
        bool, typer.Option("--reset", help="The credential is lost, or seen by somebody: end it at once.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be done.")] = False,
) -> None:
    """Give principals new credentials. Those before go on until the next rotation; with --reset they end at once."""
    from lakehouse.polaris import CredentialsFile, PolarisApi
    from lakehouse.polaris.rotation import require_declared, require_there, reset_credentials, rotate_credentials

    context = context_of(ctx)
    polaris_server = server_of(context, server)
    for principal in principals:
        require_declared(polaris_server, principal)
    if not reset:
        require_there(secrets)
    if not yes:
        for principal in principals:
            ends = "ends at once" if reset else "goes on until the next rotation"
            context.tell(f"{principal}: a new credential; the one before {ends}.")
        context.tell("Nothing was done. To do this, say the same with --yes.")
        return
    kept = CredentialsFile(secrets, polaris_server.principals)
    for principal in principals:
        if reset:
            reset_credentials(PolarisApi(polaris_server), polaris_server, principal, kept)
        else:
            rotate_credentials(polaris_server, principal, kept)
        context.tell(f"{principal}: the new credential is in {kept.path}.")
