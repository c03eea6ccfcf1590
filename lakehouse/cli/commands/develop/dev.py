"""`lakehouse dev`: everything a person needs to work, in the foreground, until Ctrl-C; then nothing is left running."""

import os
from contextlib import ExitStack
from typing import Annotated

import typer

from lakehouse.cli.context import Context, context_of
from lakehouse.cli.declared import declarations_of
from lakehouse.cli.processes.run_context import ended_by_signals, resumable, say, servers
from lakehouse.cli.servers import local_broker
from lakehouse.engines.kafka import create_topic, read_topic
from lakehouse.errors import LakehouseError
from lakehouse.quantities import quantity
from lakehouse.settings.installed_package import require_extra


class DemoLeftOut(LakehouseError):
    """Something of the demo is asked for, and the settings leave it out."""


def dev(
    ctx: typer.Context,
    *,
    port: Annotated[int, typer.Option(help="Where Dagster's UI listens, on 127.0.0.1.")] = 3000,
    days: Annotated[int, typer.Option(min=0, help="Send so many days of flights after 2013, and 2013 itself.")] = 0,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="The UI shows everything and changes nothing; sensors start runs.")
    ] = False,
) -> None:
    """Kafka, Spark Connect, Dagster's UI and sensors: new messages become materializations.

    A server that dies is started again. Ctrl-C stops all that it started.
    """
    # Dagster takes a second to import, and the other verbs do without.
    import dagster as dg

    from lakehouse.cli.lake import make_tables
    from lakehouse.cli.processes.dagster_home import alive_as_dev, end_dead_runs, prepare_home
    from lakehouse.cli.processes.dagster_services import require_free, serve
    from lakehouse.cli.processes.instance_settings import name_missing_settings
    from lakehouse.cli.processes.samples import send_samples
    from lakehouse.cli.processes.server_events import supervised
    from lakehouse.orchestration.resources import Lake

    context = context_of(ctx)
    require_extra("dev", "dagster_webserver", "Dagster's UI")
    if "LAKEHOUSE_PLATFORM" not in os.environ and (context.settings.conf / "platforms" / "connect.yaml").is_file():
        # One Spark for all runs: otherwise each would wait for a JVM of its own.
        os.environ["LAKEHOUSE_PLATFORM"] = "connect"
        context = Context(context.conf, context.out, context.err)
    if "start_maintenance" not in context.settings.automation.model_fields_set:
        # A laptop looks after its tables by itself; elsewhere somebody says so, since it deletes.
        os.environ["LAKEHOUSE__AUTOMATION__START_MAINTENANCE"] = "true"
    with resumable(context), ended_by_signals(), alive_as_dev(context.settings.state), ExitStack() as stack:
        require_free(port)  # after the mark: who holds the port may be another of this very folder
        started = stack.enter_context(servers(context))
        _fill_topics(context, days)
        send_samples(context)
        make_tables(context, Lake(context.settings, declarations_of(context)))
        home = prepare_home(context.settings)
        with dg.DagsterInstance.get() as instance:
            if not home.own:
                name_missing_settings(context, instance, home.path)
            # In our own home we are the only one of our kind, so what Dagster's services had under way is over.
            if ended := end_dead_runs(instance, context.settings.state, unmarked=home.own):
                say(context, f"ended {quantity(len(ended), 'run')} of killed processes")
            serve(context, instance, port, supervised(context, instance, started), read_only=read_only)
    say(
        context,
        "stopped: nothing half-written is visible; the next `lakehouse dev` or `lakehouse run` goes on from there",
    )
    broker = local_broker(context)
    if broker is not None and broker.running():
        say(context, "the broker was there before and goes on: `lakehouse down` stops it")


def _fill_topics(context: Context, days: int) -> None:
    """Make the demo's topics; the small one is filled, so that there is something to see, the large one on demand."""
    if not context.settings.demo and days:
        raise DemoLeftOut("--days sends flights of the demo, which is left out.", remedy="set LAKEHOUSE_DEMO=true")
    if not (context.settings.kafka.local and context.settings.demo):
        return
    from lakehouse.demo import DEMO_TOPICS, load_demo, send_days  # it imports polars, which only the demo needs

    kafka = context.settings.kafka
    for name, topic in DEMO_TOPICS.items():
        create_topic(kafka, name, topic.partitions, config={"retention.ms": "-1"})
    if all(limits.last_stable == 0 for limits in read_topic(kafka, "reference").partitions.values()):
        load_demo(kafka, topics=["reference"], console=context.err)
    if days:
        send_days(kafka, days, console=context.err)
