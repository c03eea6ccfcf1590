"""What `lakehouse run` and `lakehouse rebuild` say of mirrors at their end: changes in, rows out, and how late."""

from collections.abc import Sequence

from rich.table import Column, Table

from lakehouse.cli.context import Context
from lakehouse.cli.reports.outcome import Mirrored, RunOutcome
from lakehouse.cli.reports.positions import MirrorState, counted, span
from lakehouse.cli.reports.quarantine_report import show_quarantined
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.resources import Lake

_REFUSED = ("partition", "offset", "reason", "message")


def show_mirrored(context: Context, lake: Lake, states: Sequence[MirrorState], outcome: RunOutcome) -> None:
    """Print what the runs did to mirrors, where these are now, and what they refused."""
    if not states:
        return
    context.out.print(_done(states, outcome))
    for state in states:
        context.tell(_reached(state))
        if state.problem:
            context.tell(f"{state.mirror}: {state.problem}", "bold red")
    quarantines = (lake.declarations.mirrors[state.mirror].mirror.quarantine_table for state in states)
    existing = [name for name in quarantines if lake.catalog.table_exists(identifier_of(name))]
    show_quarantined(context, lake, existing, _REFUSED, ["partition", "offset"])


def _done(states: Sequence[MirrorState], outcome: RunOutcome) -> Table:
    numbers = ("changes", "inserted", "updated", "deleted", "refused", "rows")
    columns = [Column("mirror", no_wrap=True), *(Column(n, justify="right", no_wrap=True) for n in numbers)]
    shown = Table(*columns, show_edge=False)  # with edges, numbers of a million do not fit into 80 columns
    for state in states:
        done = outcome.mirrored.get(state.mirror, Mirrored())
        counts = (done.changes, done.inserted, done.updated, done.deleted, done.refused)
        shown.add_row(state.mirror, *(f"{count:,}" for count in counts), counted(state.rows))
    return shown


def _reached(state: MirrorState) -> str:
    """One line: how far the mirror is, and how late its newest change was."""
    if state.position is None:
        return f"{state.mirror} has not begun"
    parts = [f"{state.mirror} has reached position {state.position} of its source"]
    if state.source_time:
        parts.append(f"source time {state.source_time[:19].replace('T', ' ')} UTC")
    if state.delay_seconds is not None:
        parts.append(f"its newest change was in it {span(state.delay_seconds)} after it came to Kafka")
    if state.unmirrored:
        parts.append(f"{state.unmirrored:,} changes are not in it yet")
    return ", ".join(parts)
