"""What `lakehouse run` and `lakehouse rebuild` say of mirrors at their end: changes in, rows out, and how late."""

from collections.abc import Sequence

import pyarrow as pa
from rich.table import Column, Table

from lakehouse.cli.context import Context
from lakehouse.cli.reports.outcome import Mirrored, RunOutcome
from lakehouse.cli.reports.positions import MirrorState, counted, mirror_states, span
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.resources import Lake

_SHOWN = 20


def show_mirrored(context: Context, lake: Lake, outcome: RunOutcome, names: Sequence[str] = ()) -> None:
    """Print what the runs did to mirrors (all, if none is named), where these are now, and what they refused."""
    states = [s for s in mirror_states(lake.declarations, lake.catalog) if not names or s.mirror in names]
    if not states:
        return
    context.out.print(_done(states, outcome))
    for state in states:
        _say(context, _reached(state))
        if state.problem:
            _say(context, f"{state.mirror}: {state.problem}", "bold red")
    _show_refused(context, lake, [state.mirror for state in states])


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


def _show_refused(context: Context, lake: Lake, names: Sequence[str]) -> None:
    """Which changes were not applied and why, by their place in the changelog; keys and values are not shown."""
    shown = Table(*(Column(title, no_wrap=True) for title in ("quarantine", "offset", "reason")), "what was wrong")
    for name in names:
        table = lake.declarations.mirrors[name].mirror.quarantine_table
        if not lake.catalog.table_exists(identifier_of(table)):
            continue
        kept: pa.Table = lake.arrow(table, columns=["partition", "offset", "reason", "message"])
        for row in kept.sort_by([("partition", "ascending"), ("offset", "ascending")]).slice(0, _SHOWN).to_pylist():
            position = f"{row['partition']}:{row['offset']}"
            shown.add_row(table, position, row["reason"], row["message"].replace("[", r"\["))
        if kept.num_rows > _SHOWN:
            shown.add_row(table, "", "", f"… and {kept.num_rows - _SHOWN:,} more")
    if shown.row_count:
        context.out.print(shown)


def _say(context: Context, text: str, style: str = "") -> None:
    context.out.print(text, style=style, highlight=False, markup=False, soft_wrap=True)
