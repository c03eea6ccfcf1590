"""Commands that make one run, of tables alone: `derive` and `rebuild`. They end as the run ended."""

import time
from collections.abc import Callable

import typer

from lakehouse.cli.context import Context
from lakehouse.cli.processes.dagster_home import alive
from lakehouse.cli.processes.run_context import ended_by_signals, resumable, say, servers
from lakehouse.cli.reports.outcome import RunOutcome


def make_run(
    context: Context, run: Callable[[str], RunOutcome], show: Callable[[RunOutcome], None], *, as_json: bool = False
) -> None:
    """Make a run that reads no topic, and tell what came of it.

    Args:
        context: of the command.
        run: makes it, with the mark of this process.
        show: tells what it did, before failed checks and failures are told.
        as_json: whether `show` prints JSON, beside which nothing else goes to the same place.

    Raises:
        typer.Exit: a step failed, or a check did.
    """
    began = time.monotonic()
    with resumable(context), ended_by_signals(), alive(context.settings.state) as mark, servers(context, broker=False):
        outcome = run(mark)
        show(outcome)
    out = context.err if as_json else context.out
    for (table, name), check in sorted(outcome.checks.items()):
        if not check.passed:
            out.print(f"{name} of {table}: {check.description}", markup=False, highlight=False, soft_wrap=True)
    for step, error in outcome.failures.items():
        context.err.print(f"{step} failed: {error}", style="bold red", markup=False, highlight=False, soft_wrap=True)
    say(context, f"Dagster run {outcome.runs[-1]}, {time.monotonic() - began:.0f} s in all.")
    if outcome.exit_code:
        raise typer.Exit(outcome.exit_code)
