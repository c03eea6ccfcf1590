"""`lakehouse catalog env`: what other engines have to be told to read the lake."""

from typing import Annotated

import typer

from lakehouse.cli.context import AsJson, context_of, print_json
from lakehouse.cli.reports.reader_settings import READERS
from lakehouse.errors import LakehouseError

catalog = typer.Typer(name="catalog", no_args_is_help=True, help="The catalog, for engines that are not ours.")


class UnknownReader(LakehouseError):
    """Nobody has written down what this engine needs."""


@catalog.callback()
def group() -> None:
    """The catalog, for engines that are not ours."""


@catalog.command()
def env(
    ctx: typer.Context,
    readers: Annotated[list[str] | None, typer.Argument(help=f"{', '.join(READERS)}; default: all.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Print what a reader has to be told: variables, SQL or properties, as it wants them.

    Nothing is connected to. No secret is printed: where the reader can look one up, its variable is named, elsewhere
    there is a gap, <secret>. For PyIceberg and polars: eval "$(lakehouse catalog env pyiceberg)".
    """
    context = context_of(ctx)
    for name in readers or ():
        if name not in READERS:
            raise UnknownReader(f"There is no reader {name}.", remedy=f"name one of {', '.join(READERS)}")
    lines = {name: list(READERS[name](context.settings)) for name in readers or READERS}
    if as_json:
        print_json(lines)
        return
    for name, wanted in lines.items():
        if len(lines) > 1:
            context.tell(f"# {name}")
        for line in wanted:
            context.tell(line)
