"""`lakehouse down`: stop what `lakehouse up` has started."""

import typer

from lakehouse.cli.context import context_of
from lakehouse.cli.servers import connect_server_here, local_broker


def down(ctx: typer.Context) -> None:
    """Stop the Spark Connect server and the local Kafka broker; tables, topics and positions stay."""
    context = context_of(ctx)
    # Spark first: it reads from the broker.
    servers = {"Spark Connect server": connect_server_here(context), "Kafka broker": local_broker(context)}
    for name, server in servers.items():
        if server is not None:
            with context.err.status(f"stopping the {name}"):
                stopped = server.stop()
            context.out.print(f"{name} {'stopped' if stopped else 'was not running'}")
