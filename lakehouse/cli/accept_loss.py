"""`lakehouse accept-loss`: give up records that are gone, and put that on record."""

from typing import Annotated

import typer
from rich.table import Column, Table

from lakehouse.cli.context import Context, context_of
from lakehouse.cli.streams import step_of, tables_existing
from lakehouse.commit import read_bases
from lakehouse.ingest.loss import Loss, find_loss
from lakehouse.ingest.loss import accept_loss as seal_loss
from lakehouse.ingest.refusals import shown


def accept_loss(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(help="The stream.")],
    *,
    new_epoch: Annotated[
        bool,
        typer.Option("--new-epoch", help="The topic is another one now, or its log was cut: begin in the present one."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be given up.")] = False,
) -> None:
    """Give up the records that retention deleted unread, or begin anew in another topic; sealed in every table."""
    context = context_of(ctx)
    with tables_existing():
        step = step_of(context, stream, "accept-loss")
        bases = read_bases(step.catalog, step.tables)
        loss = find_loss(step, bases, new_epoch=new_epoch)
        _show(context, stream, loss)
        if not yes:
            context.out.print("Nothing was changed. To do this, say the same with --yes.")
            return
        published = seal_loss(step, bases, loss)
    context.out.print(f"Sealed in {len(published.snapshots)} tables by run {step.attempt.run_id}.", highlight=False)


def _show(context: Context, stream: str, loss: Loss) -> None:
    lines = Table(Column("partition", justify="right"), "given up", Column("offsets", justify="right"), "goes on at")
    for partition, end in sorted(loss.statement.end.items()):
        start, until = loss.lost.get(partition, (end, end))
        span = rf"\[{start}, {until})" if until > start else "-"
        lines.add_row(str(partition), span, f"{until - start:,}", str(end))
    context.out.print(lines)
    context.out.print(f"{stream} gives up {loss.offsets:,} offsets ({loss.reason}).", highlight=False, markup=False)
    if loss.doubtful:
        context.out.print(f"In doubt and not counted: {shown(loss.doubtful)}.", highlight=False, markup=False)
