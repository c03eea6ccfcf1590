"""`lakehouse tables`: every declared table, how much it holds, and how far it says it is."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Column, Table

from lakehouse.cli.context import Context, context_of
from lakehouse.cli.declared import all_declarations, catalog_of
from lakehouse.cli.reports.positions import (
    MirrorState,
    StreamState,
    counted,
    mirror_states,
    show_mirrors,
    show_problems,
    stream_states,
)
from lakehouse.declarations import Declarations, Mirror, Stream
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.protocol.seals.row_count import row_count


@dataclass
class TableState:
    """One table. All tables are read as they were at one moment.

    Attributes:
        stream: the stream that writes it.
        mirror: the mirror that writes it.
        rows: that a reader sees; None where nobody can say without reading all of them.
        run_id: the Dagster run of the last seal.
        position: Kafka partition → the next offset to read, from the last seal.
        unread: what its stream has not read (offsets), or its mirror not applied (changes); None where nobody can say.
        problem: why the seal cannot be believed.
    """

    table: str
    stream: str | None
    exists: bool
    mirror: str | None = None
    rows: int | None = 0
    snapshot_id: int | None = None
    committed_at: str | None = None
    run_id: str | None = None
    runtime_date: str | None = None
    position: Mapping[str, int] | None = None
    unread: int | None = None
    problem: str | None = None

    @property
    def writer(self) -> str:
        """Who writes it; a table of a user's own is written by its asset."""
        return self.stream or self.mirror or self.table


def tables(
    ctx: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show every declared table with its rows and snapshot, and how far its stream or mirror is."""
    context = context_of(ctx)
    declarations, catalog = all_declarations(context), catalog_of(context)
    existing = [name for name, table in declarations.tables.items() if catalog.table_exists(table.identifier)]
    group = read_group(catalog, existing) if existing else {}
    states = _states(declarations, group)
    streams = stream_states(context, declarations, group)
    mirrors = mirror_states(declarations, catalog)
    unread = {state.stream: state.unread for state in streams} | {state.mirror: state.unmirrored for state in mirrors}
    rows = {state.mirror: state.rows for state in mirrors if not state.problem}
    for state in states:
        state.unread = unread.get(state.writer)
        if state.table in rows:  # by its seal, without a look at delete files
            state.rows = rows[state.table]
        elif state.table in group:
            state.rows = row_count(group[state.table].table, state.snapshot_id)
    if as_json:
        typer.echo(json.dumps([asdict(state) for state in states], indent=2))
    else:
        _show(context, states, streams, mirrors)


def _states(declarations: Declarations, group: dict[str, Pinned]) -> list[TableState]:
    states: list[TableState] = []
    for name in sorted(declarations.tables):
        writer = declarations.writer(name)
        state = TableState(name, writer.name if isinstance(writer, Stream) else None, exists=name in group)
        state.mirror = writer.name if isinstance(writer, Mirror) else None
        if name in group:
            _read(group[name], state)
        states.append(state)
    return states


def _read(pinned: Pinned, state: TableState) -> None:
    snapshot = pinned.table.snapshot_by_id(pinned.snapshot_id) if pinned.snapshot_id is not None else None
    if snapshot is None:
        return
    state.snapshot_id = snapshot.snapshot_id
    state.committed_at = datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC).isoformat()
    try:
        sealed = pinned.sealed
    except SealBroken as broken:
        state.problem = broken.message
        return
    if sealed is not None:
        statement = KafkaStatement.from_keys(sealed.seal.statement)
        state.run_id, state.runtime_date = sealed.seal.run_id, sealed.seal.runtime_date
        state.position = statement.numbers.labelled(statement.end) if statement else None


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
    for state in states:
        shown.add_row(
            state.table,
            counted(state.rows) if state.exists else "not created",
            str(state.snapshot_id or ""),
            (state.committed_at or "")[:16].replace("T", " "),
        )
    context.out.print(shown)
    context.out.print(_writers(states, streams))
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
            (state.run_id or "")[:8],
            state.runtime_date or "",
            ", ".join(f"{partition}:{offset}" for partition, offset in position.items()),
            _unread(state),
        )
    return shown


def _unread(state: TableState) -> str:
    if state.unread is None:
        return "?" if state.stream or state.mirror else ""
    return f"{state.unread:,}"
