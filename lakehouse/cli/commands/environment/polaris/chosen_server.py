"""Which server a verb is about, and how it differs from its file."""

from typing import TYPE_CHECKING, Annotated

import typer

from lakehouse.cli.context import Context

if TYPE_CHECKING:
    from lakehouse.polaris import PolarisPlan, PolarisServer

_HELP = "A file of conf/polaris; default: the one that conf/lakehouse.yaml names, or the only one."
Name = Annotated[str, typer.Argument(help=_HELP)]
NameOption = Annotated[str, typer.Option("--server", help=_HELP)]


def server_of(context: Context, name: str) -> "PolarisServer":
    """Read what is declared of the server that is meant."""
    from lakehouse.polaris import load_polaris

    settings = context.settings
    return load_polaris(settings.conf, name or settings.polaris or "")


def planned(server: "PolarisServer") -> "PolarisPlan":
    """Compare the server with its file."""
    from lakehouse.polaris import PolarisApi, plan_polaris, survey, wanted

    return plan_polaris(wanted(server), survey(PolarisApi(server), server))
