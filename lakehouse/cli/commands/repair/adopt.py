"""`lakehouse adopt`: rows that no seal accounts for become the baseline of a stream."""

from typing import Annotated, Any

import typer
from rich.table import Column, Table

from lakehouse.cli.context import AsJson, Context, context_of
from lakehouse.cli.streams import print_sealed, step_of
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.repair.adoption import Adoption, GoOnFrom, find_adoption
from lakehouse.steps.ingest.repair.adoption import adopt as seal_adoption


def adopt(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(help="The stream.")],
    *,
    go_on_from: Annotated[
        GoOnFrom,
        typer.Option(
            "--from",
            help="Go on after the rows (or at the sealed position), or at an end of the log, if that skips nothing.",
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be adopted.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take what the tables of a stream hold now as accounted for, and say in every audit that a person did so."""
    context = context_of(ctx)
    step = step_of(context, stream, "adopt")
    bases = read_bases(step.catalog, step.tables)
    with context.err.status(f"reading the Kafka offsets of {stream}"):
        adoption = find_adoption(step, bases, go_on_from)
    if not as_json:
        _show(context, adoption)
    published = seal_adoption(step, bases, adoption) if yes else None
    print_sealed(context, step, published, as_json=_as_data(stream, adoption) if as_json else None)


def _as_data(stream: str, adoption: Adoption) -> dict[str, Any]:
    return {
        "stream": stream,
        "rows": adoption.rows,
        "unaccounted": adoption.unaccounted,
        "repeated": dict(sorted(adoption.repeated.items())),
        "read_again": dict(sorted(adoption.read_again.items())),
        "goes_on_at": dict(sorted(adoption.statement.end.items())),
    }


def _show(context: Context, adoption: Adoption) -> None:
    lines = Table(Column("table", no_wrap=True), Column("rows", justify="right"), "not accounted for by a seal")
    for name, rows in adoption.rows.items():
        lines.add_row(name, f"{rows:,}", adoption.unaccounted.get(name, "-"))
    context.out.print(lines)
    ends = ", ".join(f"{partition}:{end}" for partition, end in sorted(adoption.statement.end.items()))
    context.out.print(f"The stream goes on at {ends}.", highlight=False)
    for partition, times in sorted(adoption.repeated.items()):
        context.out.print(
            f"Partition {partition}: {times:,} rows repeat an offset that is there already; they stay.", style="yellow"
        )
    for partition, times in sorted(adoption.read_again.items()):
        context.out.print(
            f"Partition {partition}: {times:,} rows lie after that position; their records would be read again and "
            "land twice.",
            style="yellow",
        )
