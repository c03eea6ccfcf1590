"""`lakehouse dev`: everything a person needs to work, in the foreground, until Ctrl-C; then nothing is left running."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from typing import Annotated
from urllib.error import URLError

import dagster as dg
import typer

from lakehouse.cli.context import Context, context_of
from lakehouse.cli.dagster_home import alive_as_dev, end_dead_runs, prepare_home
from lakehouse.cli.running import ended_by_signals, make_tables, say, servers
from lakehouse.errors import LakehouseError
from lakehouse.kafka import create_topic, read_topic
from lakehouse.resources import Lake

HOST = "127.0.0.1"
_READY_WITHIN = 120.0
_STOP_WITHIN = 15.0


class DevFailed(LakehouseError):
    """Dagster's services could not be started, or ended by themselves."""


def dev(
    ctx: typer.Context,
    *,
    port: Annotated[int, typer.Option(help="Where Dagster's UI listens, on 127.0.0.1.")] = 3000,
    days: Annotated[int, typer.Option(min=0, help="Send so many days of flights after 2013, and 2013 itself.")] = 0,
) -> None:
    """Kafka, Spark Connect, Dagster's UI and sensors: new messages become materializations. Ctrl-C stops everything."""
    context = context_of(ctx)
    if "LAKEHOUSE_PLATFORM" not in os.environ and (context.settings.conf / "platforms" / "connect.yaml").is_file():
        # One Spark for all runs: otherwise each would wait for a JVM of its own.
        os.environ["LAKEHOUSE_PLATFORM"] = "connect"
        context = Context(context.conf, context.out, context.err)
    _require_free(port)
    with ended_by_signals(), alive_as_dev(context.settings.state), servers(context):
        _fill_topics(context, days)
        make_tables(context, Lake(context.settings))
        prepare_home(context.settings)
        with dg.DagsterInstance.get() as instance:
            # We are the only one of our kind, so what Dagster's services had under way is over.
            if ended := end_dead_runs(instance, context.settings.state, unmarked=True):
                say(context, f"{len(ended)} runs of killed processes were ended")
        _serve(context, port)


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            raise DevFailed(f"Port {port} is taken.", remedy="choose another with --port") from None


def _fill_topics(context: Context, days: int) -> None:
    """Make the demo's topics; the small one is filled, so that there is something to see, the large one on demand."""
    if not context.settings.kafka.local:
        return
    from lakehouse.demo import DEMO_TOPICS, load_demo, send_days  # it imports polars, which only the demo needs

    kafka = context.settings.kafka
    for name, topic in DEMO_TOPICS.items():
        create_topic(kafka, name, topic.partitions, config={"retention.ms": "-1"})
    if all(limits.last_stable == 0 for limits in read_topic(kafka, "reference").partitions.values()):
        load_demo(kafka, topics=["reference"], console=context.err)
    if days:
        send_days(kafka, days, console=context.err)


def _serve(context: Context, port: int) -> None:
    """Run Dagster's services until a signal comes."""
    command = [sys.executable, "-m", "dagster", "dev", "-m", "lakehouse.definitions", "-h", HOST, "-p", str(port)]
    # A session of its own: Ctrl-C in the terminal reaches us alone, and we end the whole group in order.
    services = subprocess.Popen(command, cwd=context.settings.state.dagster, start_new_session=True)
    try:
        _await_ready(context, services, port)
        say(context, f"Dagster's UI: http://{HOST}:{port} · send messages: lakehouse produce · stop: Ctrl-C")
        if services.wait() != 0:
            raise DevFailed(
                f"Dagster's services ended with code {services.returncode}.", remedy="see what they printed"
            )
    except (KeyboardInterrupt, SystemExit):
        say(context, "stopping")
    finally:
        end_group(services)


def _await_ready(context: Context, services: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + _READY_WITHIN
    with context.err.status("starting Dagster"):
        while services.poll() is None:
            with suppress(URLError, ConnectionError), urllib.request.urlopen(f"http://{HOST}:{port}/server_info"):
                return
            if time.monotonic() > deadline:
                raise DevFailed(f"Dagster did not answer in {_READY_WITHIN:.0f} s.", remedy="see what it printed")
            time.sleep(0.2)
    raise DevFailed(f"Dagster's services ended with code {services.returncode}.", remedy="see what they printed")


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
