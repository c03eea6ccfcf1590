"""`lakehouse rollback|forward`: tables that one step writes, back to a seal that they share, and forward again."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from lakehouse.cli.context import AsJson, Context, catalog_of, context_of, print_json
from lakehouse.cli.declared import whole_declarations
from lakehouse.engines.kafka.several_topics.stream_topics import read_stream_topics
from lakehouse.steps.maintenance.rollback.move import Move, carry_out, find_move
from lakehouse.steps.maintenance.rollback.points import Direction

Names = Annotated[list[str], typer.Argument(help="A stream, or tables of one step; all others of it go with them.")]
Run = Annotated[str, typer.Option("--to", help="The run whose seals to go to, or how its id begins.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be moved.")]


def rollback(ctx: typer.Context, names: Names, *, to: Run = "", yes: Yes = False, as_json: AsJson = False) -> None:
    """Set all tables of one step back to a seal that they share, in one transaction; no file is deleted.

    Without --to: to the newest that all share, where one was set back alone or written to without a seal.
    """
    _move(context_of(ctx), names, "rollback", to, yes=yes, as_json=as_json)


def forward(ctx: typer.Context, names: Names, *, to: Run = "", yes: Yes = False, as_json: AsJson = False) -> None:
    """Set all tables of one step forward to what they were set back from, as long as its snapshots are there."""
    _move(context_of(ctx), names, "forward", to, yes=yes, as_json=as_json)


def _move(context: Context, names: Sequence[str], direction: Direction, run: str, *, yes: bool, as_json: bool) -> None:
    catalog, declared, kafka = catalog_of(context), whole_declarations(context), context.settings.kafka
    move = find_move(
        *(catalog, declared, names, direction),
        run=run,
        read_topic=lambda stream, statement: read_stream_topics(kafka, stream, statement),
    )
    done = yes and bool(move.changed)
    if done:
        carry_out(catalog, declared, move)
    if as_json:
        print_json(_as_data(move, done=done))
        return
    _show(context, move)
    if not move.changed:
        context.out.print("They stand there already; nothing to do.")
    elif done:
        context.out.print("Moved, in one transaction.")
    else:
        context.out.print("Nothing was changed. To do this, say the same with --yes.")
    if move.stale:
        message = f"Computed from what is taken back: `lakehouse derive {' '.join(move.stale)} --downstream`."
        context.out.print(message, style="yellow", highlight=False, soft_wrap=True, markup=False)


def _as_data(move: Move, *, done: bool) -> dict[str, Any]:
    return {
        "direction": move.direction,
        "run_id": move.point.run_id,
        "tables": {name: {"before": before, "after": after} for name, (before, after) in move.changed.items()},
        "stale": list(move.stale),
        "done": done,
    }


def _show(context: Context, move: Move) -> None:
    lines = Table(
        Column("table", no_wrap=True),
        Column("snapshot", no_wrap=True),
        Column("becomes", no_wrap=True),
        title=f"To what run {move.point.run_id} sealed ({move.point.kind})",
        title_justify="left",
    )
    for name, snapshot_id in sorted(move.point.snapshots.items()):
        before, after = move.changed.get(name, (snapshot_id, snapshot_id))
        lines.add_row(name, str(before), str(after) if before != after else "-")
    context.out.print(lines)
