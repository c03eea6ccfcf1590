"""What `run` and `dev` have in common: servers that are stopped if we started them, and signals that end us well."""

import signal
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import NoReturn

from lakehouse.cli.context import Context
from lakehouse.cli.servers import connect_server_here, local_broker


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


def say(context: Context, text: str) -> None:
    """One line of progress."""
    context.err.print(text, highlight=False, markup=False, soft_wrap=True)


def _exit(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
