"""`lakehouse run`: from nothing to tables that are proven right, in one command; again, only what is new is added."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from lakehouse.cli.context import AsJson, Context, context_of, print_json
from lakehouse.cli.declared import all_declarations
from lakehouse.cli.processes.run_context import ended_by_signals, resumable, say, servers
from lakehouse.quantities import quantity
from lakehouse.settings.storage_refusal import StorageRefused, refusal_in


def run(
    ctx: typer.Context,
    *,
    demo: Annotated[
        bool,
        typer.Option(
            help="Send the demo's messages that the local broker does not hold yet, and samples; without, the demo is "
            "left out unless its topics are there."
        ),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Load demo or samples, materialize every asset with its checks through Dagster, report, stop what was started."""
    began = time.monotonic()
    # Dagster takes a second to import, and the other verbs do without.
    from lakehouse.cli.lake import make_tables
    from lakehouse.cli.processes.dagster_home import alive
    from lakehouse.cli.processes.materialize import materialize
    from lakehouse.cli.processes.samples import send_samples
    from lakehouse.cli.reports.run_report import show_report
    from lakehouse.orchestration.resources import Lake

    context = context_of(ctx)
    with resumable(context), ended_by_signals(), alive(context.settings.state) as mark, servers(context):
        if demo and context.settings.demo and context.settings.kafka.local:
            _load_demo(context)
        elif not demo and context.settings.demo and (missing := _missing_topics(context)):
            say(context, f"the demo is left out: there is no topic {', '.join(missing)}")
            context.settings = context.settings.model_copy(update={"demo": False})
        if demo:
            for topic, sent in send_samples(context).items():
                say(context, f"topic {topic}: {sent:,} sample messages sent")
        lake = Lake(context.settings, all_declarations(context))
        make_tables(context, lake)
        outcome = materialize(context, lake, mark)
        outcome.seconds = time.monotonic() - began
        if as_json:
            print_json(outcome.as_data())
        else:
            show_report(context, lake, outcome, demo=demo)
    require_storage(outcome.failures.values(), context.settings.state.root)
    if outcome.exit_code:
        raise typer.Exit(outcome.exit_code)


def require_storage(failures: Iterable[str], root: Path) -> None:
    """Say in one line that steps failed for want of a disk: no promise is broken by that.

    Args:
        failures: why steps failed.
        root: the state folder.

    Raises:
        StorageRefused: a disk is full, read-only, or not ours to write to.
    """
    if refusal := next(filter(None, (refusal_in(text, root) for text in failures)), None):
        raise StorageRefused.of_state(root, refusal)


def _missing_topics(context: Context) -> list[str]:
    """The demo's topics that the cluster has not."""
    from lakehouse.demo import DEMO_TOPICS  # it imports polars, which only the demo needs
    from lakehouse.engines.kafka import topic_names

    return sorted(set(DEMO_TOPICS) - set(topic_names(context.settings.kafka)))


def _load_demo(context: Context) -> None:
    from lakehouse.demo import load_demo  # it imports polars, which only the demo needs

    for topic, sent in load_demo(context.settings.kafka, console=context.err).items():
        say(
            context,
            f"topic {topic}: {quantity(sent, 'message')} sent" if sent else f"topic {topic}: complete, nothing to send",
        )
