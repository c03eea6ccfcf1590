"""`lakehouse metrics`: the state of the lake for a Prometheus."""

import typer

from lakehouse.cli.context import context_of
from lakehouse.cli.reports.metrics import exposition
from lakehouse.cli.reports.table_states import lake_states


def metrics(ctx: typer.Context) -> None:
    """Print lag, records, rows, commit times and the health of mirrors as OpenMetrics, from seals and offsets.

    For a textfile collector, or whatever calls a command. Where no broker answers, the lag is left out, and it ends
    with 2.
    """
    typer.echo(exposition(lake_states(context_of(ctx))), nl=False)
