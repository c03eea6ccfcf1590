"""`lakehouse reprocess`: take refused records up again, after the declaration was widened or corrected."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Annotated, Any

import typer
from pyspark.sql import SparkSession
from rich.table import Column, Table

from lakehouse.cli.context import AsJson, Context, context_of
from lakehouse.cli.streams import print_sealed, step_of
from lakehouse.engines.spark import spark_session
from lakehouse.protocol.seals.base import read_bases
from lakehouse.quantities import quantity
from lakehouse.steps.cdc.fold.reprocessed_changes import mirrors_without_history
from lakehouse.steps.ingest.evolve.changes import TableChanges
from lakehouse.steps.ingest.ingest_step import after_changes, with_named_tables
from lakehouse.steps.ingest.repair.accept_offsets import parse_offsets
from lakehouse.steps.ingest.repair.acceptable_records import CannotReprocess, Reprocess, find_reprocess, find_unmade
from lakehouse.steps.ingest.repair.refused_records import numbers_of
from lakehouse.steps.ingest.repair.reprocess import reprocess as take_up

SHOWN = 10
"""So many tables that would be made are named."""


def reprocess(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(help="The stream.")],
    *,
    offsets: Annotated[
        list[str] | None,
        typer.Option(
            "--offsets",
            help="PARTITION:OFFSET or PARTITION:FIRST-LAST, the last included; of several topics TOPIC:…; repeatable.",
        ),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is in the seal.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take records out of a stream's quarantine that are acceptable now, and put them where they belong."""
    context = context_of(ctx)

    def session() -> AbstractContextManager[SparkSession]:
        return spark_session(context.settings, app_name=f"reprocess {stream}")

    step = step_of(context, stream, "reprocess", session)
    if lost := mirrors_without_history(step.catalog, step.declarations, step.stream):
        raise CannotReprocess(
            f"{'; '.join(lost)} So the order of a change that is taken up late could not be proven.",
            remedy="let the source write these rows again: a later change heals them",
        )
    bases = read_bases(step.catalog, step.tables)
    numbers = numbers_of(bases[step.stream.quarantine_table])
    wanted = parse_offsets(offsets, numbers) if offsets else None
    unmade = find_unmade(step, bases, wanted)
    if unmade and yes:
        step = with_named_tables(after_changes(step, TableChanges(unmade=unmade)))
        bases = read_bases(step.catalog, step.tables)
    records = find_reprocess(step, bases, wanted, reason=reason)
    if not as_json:
        _show(context, stream, records)
        if unmade and not yes:
            waiting = f"{quantity(sum(unmade.values()), 'record')} more can leave it for tables that are made first"
            names = [*sorted(unmade)[:SHOWN], *([f"{len(unmade) - SHOWN} more"] if len(unmade) > SHOWN else [])]
            context.out.print(f"{waiting}: {', '.join(names)}.", highlight=False, markup=False, soft_wrap=True)
    published = take_up(step, bases, records) if yes and records.count else None
    print_sealed(
        context,
        step,
        published,
        as_json=_as_data(stream, records, unmade) if as_json else None,
        to_do=bool(records.count or unmade),
    )


def _as_data(stream: str, records: Reprocess, unmade: Mapping[str, int]) -> dict[str, Any]:
    spans = records.previous.numbers.labelled(records.places.spans)
    return {
        "stream": stream,
        "records": records.count,
        "acceptable": {p: [list(span) for span in of_p] for p, of_p in spans.items()},
        "refused": dict(sorted(records.refused.items())),
        "left": records.left,
        "shared": records.shared,
        "tables_to_make": dict(sorted(unmade.items())),
    }


def _show(context: Context, stream: str, records: Reprocess) -> None:
    lines = Table(Column("partition", justify="right"), "acceptable now", Column("records", justify="right"))
    for partition, spans in records.places.spans.items():
        ranges = ", ".join(str(start) if end == start + 1 else f"{start}-{end - 1}" for start, end in spans[:10])
        more = f" and {len(spans) - 10} more ranges" if len(spans) > 10 else ""
        lines.add_row(
            records.previous.numbers.label(partition), ranges + more, f"{len(records.places.offsets[partition]):,}"
        )
    if records.count:
        context.out.print(lines)
    stays = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(records.refused.items())) or "none"
    message = (
        f"{stream}: {quantity(records.count, 'record')} can leave the quarantine; still refused and staying: {stays}."
    )
    if records.left:
        message += f" {records.left:,} more were not looked at: say the same again afterwards."
    if records.shared:
        message += f" {records.shared:,} stay, as their offsets are of two logs, and nobody can tell which is meant."
    context.out.print(message, highlight=False, markup=False, soft_wrap=True)
