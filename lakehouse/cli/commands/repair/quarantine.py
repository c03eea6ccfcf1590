"""`lakehouse quarantine`: how much a stream refuses; refused records as dead letters, and let go after their time."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Column, Table

from lakehouse.cli.context import AsJson, context_of, print_json
from lakehouse.cli.streams import print_sealed, step_of
from lakehouse.protocol.seals.base import read_bases
from lakehouse.quantities import quantity
from lakehouse.steps.ingest.repair.dead_letters import export_dead_letters, find_dead_letters
from lakehouse.steps.ingest.repair.refused_retention import expire_refused, find_expired_refused
from lakehouse.steps.ingest.repair.refused_trend import refused_by_day

quarantine = typer.Typer(
    name="quarantine",
    no_args_is_help=True,
    help="What a stream could not accept: by day and reason, as dead letters on a topic, and let go after its time.",
)


@quarantine.command("export")
def export(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(help="The stream.")],
    topic: Annotated[str, typer.Argument(help="The dead-letter topic; it exists.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Send; without this, only show how many would be sent.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send refused records to a topic, as they came, with `__connect.errors.` headers; none that it has already."""
    context = context_of(ctx)
    step = step_of(context, stream, "export")
    name = step.stream.quarantine_table
    letters = find_dead_letters(step.kafka, stream, read_bases(step.catalog, [name])[name], topic)
    sent = export_dead_letters(step.kafka, topic, letters) if yes else 0
    if as_json:
        counts = {"to_send": len(letters.records), "sent": sent, "present": letters.present}
        print_json({"stream": stream, "topic": topic, **counts})
        return
    done = f"{quantity(sent, 'record')} sent" if yes else f"{quantity(len(letters.records), 'record')} to send"
    context.out.print(f"{name}: {done} to {topic}; {letters.present:,} are there already.", highlight=False)
    if not yes and letters.records:
        context.out.print("Nothing was sent. To do this, say the same with --yes.")


@quarantine.command("show")
def show(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(help="The stream.")],
    *,
    days: Annotated[int, typer.Option("--days", min=1, help="So many, today included.")] = 14,
    as_json: AsJson = False,
) -> None:
    """Count the records in quarantine by day and reason: the day is that of the Kafka timestamp, in UTC."""
    context = context_of(ctx)
    step = step_of(context, stream, "show")
    base = read_bases(step.catalog, [step.stream.quarantine_table])[step.stream.quarantine_table]
    refused = refused_by_day(base.table, base.snapshot_id, days, today=datetime.now(UTC).date())
    if as_json:
        counts = [{"day": str(each.day), "reason": each.error_class, "records": each.records} for each in refused]
        print_json({"stream": stream, "quarantine": base.name, "days": days, "refused": counts})
        return
    if not refused:
        context.out.print(f"{base.name} has no record of the last {quantity(days, 'day')}.", highlight=False)
        return
    table = Table("day", "reason", Column("records", justify="right"))
    for each in refused:
        table.add_row(str(each.day), each.error_class, f"{each.records:,}")
    context.out.print(table)


@quarantine.command("expire")
def expire(
    ctx: typer.Context,
    stream: Annotated[str, typer.Argument(help="The stream.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show how many would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove refused records that are older than the stream's `keep_refused`; the seals say what went."""
    context = context_of(ctx)
    step = step_of(context, stream, "retire")
    bases = read_bases(step.catalog, step.tables)
    expired = find_expired_refused(step, bases)
    count, left = (expired.places.count, expired.left) if expired else (0, 0)
    if not as_json:
        more = f" {left:,} more are as old: say the same again afterwards." if left else ""
        records = quantity(count, "record")
        message = f"{step.stream.quarantine_table}: {records} past {step.stream.keep_refused} can go.{more}"
        context.out.print(message, highlight=False, soft_wrap=True)
    published = expire_refused(step, bases, expired) if yes and expired else None
    shown = {"stream": stream, "quarantine": step.stream.quarantine_table, "records": count, "left": left}
    print_sealed(context, step, published, as_json=shown if as_json else None, to_do=bool(count))
