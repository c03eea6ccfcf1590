"""`lakehouse adopt`: rows that no seal accounts for, also those of another writer, become the baseline of a stream."""

from typing import Annotated, Any

import typer
from rich.table import Column, Table

from lakehouse.cli.context import AsJson, Context, context_of
from lakehouse.cli.streams import print_sealed, step_of
from lakehouse.declarations import TablePlan, apply, plan
from lakehouse.proofs.foreign.coordinate_columns import ColumnNames
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.repair.adoption import Adoption, find_adoption
from lakehouse.steps.ingest.repair.adoption import adopt as seal_adoption
from lakehouse.steps.ingest.repair.go_on import GoOn, GoOnFrom


def adopt(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(help="The stream.")],
    *,
    go_on_from: Annotated[
        GoOnFrom,
        typer.Option(
            "--from",
            help="Go on after the rows (or at the sealed position), at an end of the log if that skips nothing, where "
            "a consumer group has come to, or at given offsets.",
        ),
    ],
    group: Annotated[
        str, typer.Option(help="Consumer group of the writer before; of a sink of Kafka Connect: connect-<name>.")
    ] = "",
    offsets: Annotated[str, typer.Option(help="Offsets to go on at, as 0:1200,1:1150.")] = "",
    partition_column: Annotated[str, typer.Option(help="What the writer before called the partition.")] = "",
    offset_column: Annotated[str, typer.Option(help="What the writer before called the offset.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be adopted.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take what the tables of a stream hold now as accounted for, and say in every audit that a person did so."""
    context = context_of(ctx)
    go_on = GoOn(go_on_from, group, offsets_of(offsets), ColumnNames("", partition_column, offset_column))
    step = step_of(context, stream, "adopt")
    plans = [plan(step.declarations.tables[name], step.catalog, adopting=True) for name in step.tables]
    with context.err.status(f"reading the Kafka offsets of {stream}"):
        adoption = _find(step, plans, go_on)
    if not as_json:
        _show(context, plans, adoption)
    if yes:
        for planned in plans:
            apply(planned, step.catalog)
        bases = read_bases(step.catalog, step.tables)
        # Looked at again: with its new columns it is another table, and somebody may have written meanwhile.
        adoption = find_adoption(step, bases, go_on)
        published = seal_adoption(step, bases, adoption)
    else:
        published = None
    print_sealed(context, step, published, as_json=_as_data(stream, plans, adoption) if as_json else None)


def offsets_of(text: str) -> dict[int, int]:
    """Partition → offset, of `0:1200,1:1150`.

    Raises:
        typer.BadParameter: it is of another form.
    """
    pairs = [part.split(":") for part in text.split(",") if part.strip()]
    if not all(len(pair) == 2 and all(number.strip().isdigit() for number in pair) for pair in pairs):
        raise typer.BadParameter(f"'{text}' is no list of offsets: write partition:offset, such as 0:1200,1:1150.")
    return {int(partition): int(offset) for partition, offset in pairs}


def _find(step: IngestStep, plans: list[TablePlan], go_on: GoOn) -> Adoption:
    """What there is to adopt, of the tables that exist."""
    existing = [planned.table.name for planned in plans if planned.base is not None]
    return find_adoption(step, read_bases(step.catalog, existing or step.tables), go_on)


def _as_data(stream: str, plans: list[TablePlan], adoption: Adoption) -> dict[str, Any]:
    return {
        "stream": stream,
        "changes": {planned.table.name: list(map(str, planned.changes)) for planned in plans if planned},
        "rows": adoption.rows,
        "without_coordinates": adoption.without_coordinates,
        "unaccounted": adoption.unaccounted,
        "repeated": dict(sorted(adoption.repeated.items())),
        "read_again": dict(sorted(adoption.read_again.items())),
        "not_in_rows": dict(sorted(adoption.not_in_rows.items())),
        "goes_on_at": dict(sorted(adoption.statement.end.items())),
        "source": str(adoption.go_on),
    }


def _show(context: Context, plans: list[TablePlan], adoption: Adoption) -> None:
    lines = Table(
        Column("table", no_wrap=True),
        Column("rows", justify="right"),
        Column("without coordinates", justify="right"),
        "not accounted for by a seal",
    )
    for name, rows in adoption.rows.items():
        without = adoption.without_coordinates.get(name, 0)
        lines.add_row(name, f"{rows + without:,}", f"{without:,}", adoption.unaccounted.get(name, "-"))
    context.out.print(lines)
    for planned in plans:
        for change in planned.changes:
            context.out.print(f"{planned.table.name}: {change}", highlight=False)
    for name, sink in adoption.sinks.items():
        context.out.print(
            f"{name}: its sink has committed all that it has announced on {sink.control_topic}.", highlight=False
        )
    ends = ", ".join(f"{partition}:{end}" for partition, end in sorted(adoption.statement.end.items()))
    context.out.print(f"The stream goes on at {ends} (from {adoption.go_on}).", highlight=False)
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
    for partition, times in sorted(adoption.not_in_rows.items()):
        context.out.print(
            f"Partition {partition}: {times:,} offsets before that position are in no row: left out by the writer "
            "before, or no records, or lost.",
            style="yellow",
        )
