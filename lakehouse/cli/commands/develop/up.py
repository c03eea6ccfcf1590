"""`lakehouse up`: start what a lakehouse on this machine needs, and leave it running."""

from typing import Annotated

import typer

from lakehouse.cli.context import context_of
from lakehouse.cli.processes.prerequisites import bring_prerequisites
from lakehouse.cli.servers import connect_server, local_broker


def up(
    ctx: typer.Context,
    *,
    connect: Annotated[bool, typer.Option("--connect", help="Start the Spark Connect server as well.")] = False,
) -> None:
    """Start the local Kafka broker, and with --connect the Spark Connect server; what runs already is left alone."""
    context = context_of(ctx)
    bring_prerequisites(context.settings, context.err)
    broker = local_broker(context)
    if broker is None:
        context.out.print(f"Kafka at {context.settings.kafka.bootstrap_servers} is not ours to start")
    else:
        with context.err.status("starting the Kafka broker"):
            started = broker.start()
        context.out.print(f"Kafka broker {'started' if started else 'was running'} at {broker.bootstrap_servers}")
    if connect:
        server = connect_server(context)
        with context.err.status("starting the Spark Connect server"):
            started = server.start()
        context.out.print(f"Spark Connect server {'started' if started else 'was running'}")
