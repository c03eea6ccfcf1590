"""What commands that run Dagster share: servers that are stopped if we started them, and signals that end us well."""

import signal
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import NoReturn

import typer

from lakehouse.cli.context import Context
from lakehouse.cli.processes.prerequisites import bring_prerequisites
from lakehouse.cli.processes.supervision import Server
from lakehouse.cli.servers import connect_server_here, local_broker
from lakehouse.engines.spark.connect.client import Remote

BROKER, SPARK_CONNECT = "Kafka broker", "Spark Connect server"
INTERRUPTED = 128 + signal.SIGINT
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def servers(context: Context, *, broker: bool = True) -> Generator[dict[str, Server]]:
    """Have the broker and, where the platform is Connect, its server running; stop what was not running before.

    Args:
        context: of the command.
        broker: whether topics are read or written; what works on tables alone needs none.

    Yields:
        Those that are ours, by name.
    """
    _look_around(context, broker=broker)
    bring_prerequisites(context.settings, context.err, broker=broker)
    undo = ExitStack()
    ours: dict[str, Server] = {}
    try:
        if broker and (kafka := local_broker(context)) is not None:
            ours[BROKER] = _started(context, BROKER, kafka, undo)
            say(context, f"Kafka broker at {kafka.bootstrap_servers}")
        if context.settings.platform.mode == "connect" and (server := connect_server_here(context)) is not None:
            ours[SPARK_CONNECT] = _started(context, SPARK_CONNECT, server, undo)
            remote = Remote.of(context.settings)
            say(context, f"Spark Connect at sc://{remote.host}:{remote.port}")
        yield ours
    finally:
        with shielded():
            undo.close()


def _look_around(context: Context, *, broker: bool) -> None:
    """Ask the catalog, and a broker that is not ours to start, before anything is started: they may be away.

    A lake without streams needs no broker.
    """
    # They import PyIceberg and librdkafka, which whoever only prints a line does without.
    from lakehouse.cli.context import catalog_of
    from lakehouse.cli.declared import all_declarations
    from lakehouse.engines.kafka import require_broker

    catalog_of(context)
    if broker and not context.settings.kafka.local and all_declarations(context).streams:
        require_broker(context.settings.kafka)


def _started(context: Context, name: str, server: Server, undo: ExitStack) -> Server:
    # Before the start: a signal may come in the middle of it.
    if not server.running():
        undo.callback(server.stop)
    with context.err.status(f"starting the {name}"):
        server.start()
    return server


@contextmanager
def shielded() -> Generator[None]:
    """Let nobody interrupt what cleans up: people press Ctrl-C twice, and supervisors send SIGTERM after SIGINT."""
    with _handled_by(_wait):
        yield


@contextmanager
def ended_by_signals() -> Generator[None]:
    """Turn SIGTERM, SIGHUP and SIGINT into exceptions, so that what was started is stopped, and what was made removed.

    Also where the parent ignores SIGINT, as shells do for background jobs: Dagster would adopt that for SIGTERM. A
    SIGHUP that is ignored is so by somebody's wish, as after `nohup`.
    """
    with _handled_by(_end):
        yield


@contextmanager
def resumable(context: Context) -> Generator[None]:
    """Say how to go on after a signal, which is nobody's failure.

    Raises:
        typer.Exit: the command was interrupted; by its code, 130, shells know.
    """
    try:
        yield
    except KeyboardInterrupt:
        say(context, "interrupted: nothing half-written is visible; run it again, and it goes on from there")
        raise typer.Exit(INTERRUPTED) from None


def say(context: Context, text: str) -> None:
    """One line of progress."""
    context.err.print(text, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Generator[None]:
    former = {number: signal.getsignal(number) for number in _handled()}
    for number in former:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, previous in former.items():
            signal.signal(number, previous)


def _handled() -> list[signal.Signals]:
    is_wanted = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    return [number for number in _ENDING if number is not signal.SIGHUP or is_wanted]


def _wait(_: int, __: FrameType | None) -> None:
    """Go on."""


def _end(number: int, _: FrameType | None) -> NoReturn:
    for ending in _handled():  # once is enough
        signal.signal(ending, _wait)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
