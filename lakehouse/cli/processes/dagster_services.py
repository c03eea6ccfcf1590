"""Dagster's own services (UI, daemon, code server) as one group of processes that is ended as one."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError

import dagster as dg

from lakehouse.cli.context import Context
from lakehouse.cli.processes.run_context import say, shielded
from lakehouse.cli.processes.run_events import Followed
from lakehouse.cli.processes.supervision import Supervised
from lakehouse.errors import LakehouseError
from lakehouse.settings.state import make_private

HOST = "127.0.0.1"
_READY_WITHIN = 120.0
_STOP_WITHIN = 15.0


class DevFailed(LakehouseError):
    """Dagster's services could not be started, or ended by themselves."""


def require_free(port: int) -> None:
    """Refuse a port that somebody else listens on, before anything is started.

    Raises:
        DevFailed: it is taken.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            raise DevFailed(f"Port {port} is taken.", remedy="choose another: `lakehouse dev --port N`") from None


def serve(
    context: Context,
    instance: dg.DagsterInstance,
    port: int,
    servers: Sequence[Supervised],
    *,
    read_only: bool = False,
) -> None:
    """Run Dagster's services until a signal comes, tell what their runs do, and keep the servers running.

    Args:
        context: of the command.
        instance: where runs are recorded.
        port: where the UI listens, on `HOST`.
        servers: those that are started again when they die.
        read_only: whether the UI shows everything and changes nothing; sensors start runs all the same.
    """
    state = context.settings.state
    log = state.logs / "dagster.log"
    make_private(log.parent)
    module = "lakehouse.orchestration.web.services"
    command = [sys.executable, "-m", module, "--host", HOST, "--port", str(port), *(["--read-only"] * read_only)]
    with log.open("wb") as output:
        # A session of its own: Ctrl-C in the terminal reaches us alone, and we end the whole group in order.
        services = subprocess.Popen(command, cwd=state.dagster, start_new_session=True, stdout=output, stderr=output)
    try:
        _await_ready(context, services, port, log)
        say(context, f"Dagster's UI: http://{HOST}:{port}{', read-only' * read_only} (its log: {log})")
        say(context, "Send messages: .venv/bin/lakehouse produce --days 1. Stop: Ctrl-C.")
        followed = Followed(context, instance)
        while services.poll() is None:
            for server in servers:
                server.look()
            followed.tell()
            time.sleep(1)
        raise _ended(services, log)
    except (KeyboardInterrupt, SystemExit):
        say(context, "stopping")
    finally:
        with shielded():
            end_group(services)


def _await_ready(context: Context, services: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + _READY_WITHIN
    with context.err.status("starting Dagster"):
        while services.poll() is None:
            with suppress(URLError, ConnectionError), urllib.request.urlopen(f"http://{HOST}:{port}/server_info"):
                return
            if time.monotonic() > deadline:
                raise DevFailed(f"Dagster did not answer in {_READY_WITHIN:.0f} s.", remedy=f"see {log}")
            time.sleep(0.2)
    raise _ended(services, log)


def _ended(services: "subprocess.Popen[bytes]", log: Path) -> DevFailed:
    last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
    return DevFailed(
        f"Dagster's services ended with code {services.returncode}: {' | '.join(last)}", remedy=f"see {log}"
    )


def end_group(services: "subprocess.Popen[bytes]") -> None:
    """End a process and all that it started: gently first, code servers and runs included."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(services.pid, number)
        deadline = time.monotonic() + _STOP_WITHIN
        while time.monotonic() < deadline:
            services.poll()  # buries it, or the group would never be empty
            try:
                os.killpg(services.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)
