"""`lakehouse tables`: every declared table, how much it holds, and how far it says it is."""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer
from pyiceberg.table.snapshots import Snapshot
from rich.table import Column, Table

from lakehouse.catalog import LakeCatalog
from lakehouse.cli.context import context_of
from lakehouse.cli.declared import catalog_of, declarations_of
from lakehouse.commit import Pinned, SealBroken, read_group
from lakehouse.kafka.statement import KafkaStatement
from lakehouse.tables import Declarations


@dataclass
class TableState:
    """One table. All tables are read as they were at one moment.

    Attributes:
        stream: the stream that writes it.
        rows: as the snapshot counts them.
        run_id: the Dagster run of the last seal.
        position: Kafka partition → the next offset to read, from the last seal.
        problem: why the seal cannot be believed.
    """

    table: str
    stream: str | None
    exists: bool
    rows: int = 0
    snapshot_id: int | None = None
    committed_at: str | None = None
    run_id: str | None = None
    runtime_date: str | None = None
    position: dict[int, int] | None = None
    problem: str | None = None


def tables(
    ctx: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show every declared table with its rows, its snapshot and the position it is at."""
    context = context_of(ctx)
    states = _states(declarations_of(context), catalog_of(context))
    if as_json:
        typer.echo(json.dumps([asdict(state) for state in states], indent=2))
        return
    shown = Table(Column("table", no_wrap=True), Column("rows", justify="right", no_wrap=True), "last commit", "run")
    shown.add_column("date")
    shown.add_column("next offsets")
    for state in states:
        shown.add_row(
            state.table,
            f"{state.rows:,}" if state.exists else "not created",
            (state.committed_at or "")[:16].replace("T", " "),
            (state.run_id or "")[:8],
            state.runtime_date or "",
            state.problem or ", ".join(f"{p}:{o}" for p, o in sorted((state.position or {}).items())),
        )
    context.out.print(shown)


def _states(declarations: Declarations, catalog: LakeCatalog) -> list[TableState]:
    there = [name for name, table in declarations.tables.items() if catalog.table_exists(table.identifier)]
    pinned = read_group(catalog, there) if there else {}
    states: list[TableState] = []
    for name in sorted(declarations.tables):
        writer = declarations.writer(name)
        state = TableState(name, writer.name if writer else None, exists=name in pinned)
        if name in pinned:
            _read(pinned[name], state)
        states.append(state)
    return states


def _read(pinned: Pinned, state: TableState) -> None:
    snapshot = pinned.table.snapshot_by_id(pinned.snapshot_id) if pinned.snapshot_id is not None else None
    if snapshot is None:
        return
    state.rows = _rows(snapshot)
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
        state.position = statement.end if statement else None


def _rows(snapshot: Snapshot) -> int:
    return int((snapshot.summary.get("total-records") if snapshot.summary else None) or 0)
