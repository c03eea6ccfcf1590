"""`lakehouse quarantine export`: refused records as dead letters on a topic, with the headers of Kafka Connect."""

from typing import Annotated

import typer

from lakehouse.cli.context import AsJson, context_of, print_json
from lakehouse.cli.streams import step_of
from lakehouse.protocol.seals.base import read_bases
from lakehouse.quantities import quantity
from lakehouse.steps.ingest.repair.dead_letters import export_dead_letters, find_dead_letters

quarantine = typer.Typer(
    name="quarantine", no_args_is_help=True, help="What a stream could not accept: send it to a topic of dead letters."
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
