"""What `run` and `dev` have in common: servers that are stopped if we started them, and signals that end us well."""

import signal
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import NoReturn

from lakehouse.catalog import probe
from lakehouse.cli.context import Context
from lakehouse.cli.servers import connect_server_here, local_broker
from lakehouse.resources import Lake


@contextmanager
def servers(context: Context) -> Generator[None]:
    """Have the broker and, where the platform is Connect, its server running; stop what was not running before."""
    with ExitStack() as undo:
        broker = local_broker(context)
        if broker is not None:
            with context.err.status("starting the Kafka broker"):
                if broker.start():
                    undo.callback(broker.stop)
            say(context, f"Kafka broker at {broker.bootstrap_servers}")
        if context.settings.platform.mode == "connect" and (server := connect_server_here(context)) is not None:
            with context.err.status("starting the Spark Connect server"):
                if server.start():
                    undo.callback(server.stop)
            say(context, f"Spark Connect at {context.settings.platform.remote}")
        yield


@contextmanager
def ended_by_signals() -> Generator[None]:
    """Turn SIGTERM and SIGINT into exceptions, so that what was started is stopped.

    Also where the parent ignores SIGINT, as shells do for background jobs: Dagster would adopt that for SIGTERM.
    """
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def make_tables(context: Context, lake: Lake) -> list[str]:
    """Create the declared tables that are missing, on a catalog that was tried first; returns their names.

    Raises:
        UnsafeCatalog: the write protocol is not safe on this catalog.
        DeclarationAhead: a table differs from its declaration.
    """
    with context.err.status("looking at the catalog"):
        created = lake.ensure(sorted(lake.declarations.tables))
        if created:
            probe(lake.catalog, created[0].split(".")[0])
    say(context, f"{len(lake.declarations.tables)} tables declared, {len(created)} created")
    return created


def say(context: Context, text: str) -> None:
    """One line of progress."""
    context.err.print(text, highlight=False, markup=False, soft_wrap=True)


def _exit(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
