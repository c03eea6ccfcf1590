"""`lakehouse tables`: every declared table, how much it holds, and how far it says it is."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated
from uuid import UUID

import typer
from rich.table import Column, Table

from lakehouse.cli.context import Context, context_of
from lakehouse.cli.reports.few_tables import left_out, rows_together
from lakehouse.cli.reports.positions import MirrorState, StreamState, counted, show_mirrors, show_problems
from lakehouse.cli.reports.table_states import TableState, lake_states
from lakehouse.cli.servers import local_broker


def tables(
    ctx: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show every declared table with its rows and snapshot, and how far its stream or mirror is."""
    context = context_of(ctx)
    states = lake_states(context)
    if as_json:
        typer.echo(json.dumps([asdict(state) for state in states.tables], indent=2))
    else:
        _show(context, states.tables, states.streams, states.mirrors)


def _show(
    context: Context, states: Sequence[TableState], streams: Sequence[StreamState], mirrors: list[MirrorState]
) -> None:
    """Three small tables rather than one wide: each fits in eighty columns."""
    shown = Table(
        Column("table", no_wrap=True),
        Column("rows", justify="right", no_wrap=True),
        Column("snapshot", no_wrap=True),
        Column("last commit", min_width=10),  # on two lines where there is no room for one
    )
    more = left_out({state.table: state.writer for state in states}, {s.table for s in states if s.problem})
    hidden = {table for tables in more.values() for table in tables}
    rows = {state.table: state.rows for state in states}
    for state in states:
        if state.table in hidden:
            continue
        shown.add_row(
            state.table,
            counted(state.rows) if state.exists else "not created",
            str(state.snapshot_id or ""),
            (state.committed_at or "")[:16].replace("T", " "),
        )
        if tables := more.get(state.table):
            shown.add_row(f"… {len(tables)} more of {state.writer}", counted(rows_together(rows[t] for t in tables)))
    context.out.print(shown)
    context.out.print(_writers(states, streams))
    broker = local_broker(context)
    if broker is not None and not broker.running():
        context.out.print("unread ?: this lakehouse's broker is stopped; `lakehouse up` starts it.", style="dim")
    show_problems(context, list(streams))
    if mirrors:
        show_mirrors(context, mirrors)
    for state in states:
        if state.problem:
            context.out.print(f"{state.table}: {state.problem}", style="red", highlight=False, markup=False)


def _writers(states: Sequence[TableState], streams: Sequence[StreamState]) -> Table:
    shown = Table(
        Column("written by", no_wrap=True),
        Column("run", no_wrap=True),
        Column("runtime date", min_width=10),
        "next offsets",
        Column("unread", justify="right", no_wrap=True),
    )
    offsets = {state.stream: state.position for state in streams}
    for writer, state in {state.writer: state for state in states}.items():
        position = offsets.get(writer) or {}
        shown.add_row(
            writer,
            _short(state.run_id or ""),
            state.runtime_date or "",
            ", ".join(f"{partition}:{offset}" for partition, offset in position.items()),
            _unread(state),
        )
    return shown


def _short(run_id: str) -> str:
    """As Dagster shows it; what is no id of a run of Dagster's, such as `lakehouse run`, is a name."""
    return run_id[:8] if len(run_id) == len(str(UUID(int=0))) else run_id


def _unread(state: TableState) -> str:
    if state.unread is None:
        return "?" if state.stream or state.mirror else ""
    return f"{state.unread:,}"
