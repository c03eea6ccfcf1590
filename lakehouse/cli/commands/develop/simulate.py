"""`lakehouse simulate`: messages as a source would send them, with everything that goes wrong on the way."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated

import typer

from lakehouse.cli.context import context_of
from lakehouse.cli.servers import own_kafka
from lakehouse.engines.kafka import create_topic, send
from lakehouse.quantities import quantity

simulate = typer.Typer(
    name="simulate", no_args_is_help=True, help="Send what a source would send: late, twice or out of order if asked."
)


class Format(StrEnum):
    """How changes are written into messages."""

    DEBEZIUM = "debezium"
    DMS = "dms"


@simulate.callback()
def sources() -> None:
    """Keeps `changes` a word of its own while it is the only one."""


@simulate.command()
def changes(
    ctx: typer.Context,
    *,
    topic: Annotated[str, typer.Option(help="Where to; created with 4 partitions if needed.")] = "flight_changes",
    form: Annotated[
        Format, typer.Option("--format", help="As Debezium's PostgreSQL connector writes them, or as AWS DMS does.")
    ] = Format.DEBEZIUM,
    flights: Annotated[int | None, typer.Option(min=1, help="Whole histories of the first so many flights.")] = None,
    days: Annotated[
        int | None, typer.Option(min=0, help="What is sent in the first so many days; more can be sent later.")
    ] = None,
    late: Annotated[float, typer.Option(min=0, max=1, help="Share of the changes that are held back.")] = 0,
    duplicates: Annotated[float, typer.Option(min=0, max=1, help="Share of the changes that are sent again.")] = 0,
    out_of_order: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the flights whose changes come in reverse.")
    ] = 0,
    by: Annotated[
        float, typer.Option(min=0, help="No change comes later than this, in hours; the demo's mirror waits 48.")
    ] = 48,
    seed: Annotated[int, typer.Option(min=0, help="Another number, another disorder; the same, the same.")] = 0,
) -> None:
    """Send how a table of flights changed through 2013, as change data capture tells it.

    Every flight is entered a day ahead, updated when it departs and when it arrives, or deleted if it is cancelled.
    What the topic holds already is not sent again: call it with the same switches to go on.
    """
    from lakehouse.demo import (  # it imports polars, which only the demo needs
        Disorder,
        FlightChanges,
        missing_changes,
    )

    context = context_of(ctx)
    kafka = own_kafka(context.settings)
    state = create_topic(kafka, topic, 4, config={"retention.ms": "-1"})
    end_offsets = [limits.last_stable for _, limits in sorted(state.partitions.items())]
    feed = FlightChanges(
        message_format="dms" if form is Format.DMS else "debezium",
        flights=flights,
        days=days,
        partitions=len(end_offsets),
        disorder=Disorder(
            late=late, duplicates=duplicates, out_of_order=out_of_order, by=timedelta(hours=by), seed=seed
        ),
    )
    records = missing_changes(kafka, topic, feed, end_offsets)
    total = sum(max(0, end - end_offset) for end, end_offset in zip(feed.ends, end_offsets, strict=True))
    sent = send(kafka, topic, records, total=total, console=context.err) if total else 0
    context.out.print(f"{quantity(sent, 'message')} sent to {topic} at {kafka.bootstrap_servers}", highlight=False)
