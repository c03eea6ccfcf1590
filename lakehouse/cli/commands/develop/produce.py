"""`lakehouse produce`: send messages, the demo's or your own."""

import difflib
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from lakehouse.cli.context import Context, context_of
from lakehouse.cli.encoding.line_encoding import Encode, LineEncoding, Registry
from lakehouse.cli.processes.run_context import say
from lakehouse.cli.servers import own_kafka
from lakehouse.engines.kafka import Record, create_topic, send
from lakehouse.errors import LakehouseError
from lakehouse.quantities import quantity


class NothingToSend(LakehouseError):
    """The command does not say what is to be sent to a topic."""


class UnreadTopic(LakehouseError):
    """No declared stream reads the topic, so what is sent to it would land nowhere."""


def produce(
    ctx: typer.Context,
    topic: Annotated[str | None, typer.Argument(help="The topic; default: all topics of the demo.")] = None,
    *,
    days: Annotated[int, typer.Option(min=0, help="Send the next days of flights (topic `flights`).")] = 0,
    every: Annotated[float, typer.Option(min=0, help="With --days: seconds between one day and the next.")] = 0,
    file: Annotated[Path | None, typer.Option(help="Send each line of this file; `-` is standard input.")] = None,
    avro: Annotated[
        Path | None, typer.Option(help="With --file: encode each line, Avro's JSON, with this schema (.avsc).")
    ] = None,
    protobuf: Annotated[
        Path | None,
        typer.Option(help="With --file: encode each line, Protobuf's JSON, with this schema (.proto, or compiled)."),
    ] = None,
    json_schema: Annotated[
        Path | None, typer.Option(help="With --file: send the lines that are valid against this JSON Schema, or none.")
    ] = None,
    message: Annotated[
        str, typer.Option(help="With --protobuf: full name of the message type, where there are several.")
    ] = "",
    register: Annotated[
        bool, typer.Option("--register", help="Register the schema, as <topic>-value or <topic>; records name its id.")
    ] = False,
    registry: Annotated[
        Registry | None, typer.Option(help="With --register: in which registry, where the settings have both.")
    ] = None,
    compress: Annotated[
        bool, typer.Option("--compress", help="With --register: by zlib, as AWS Glue's serializers do.")
    ] = False,
    partitions: Annotated[int, typer.Option(min=1, help="With --file: for a topic that is created by this.")] = 1,
    unread: Annotated[
        bool, typer.Option("--unread", help="With --file: send also to a topic that no declared stream reads.")
    ] = False,
) -> None:
    """Send the demo's messages that are still missing, more days of flights, or the lines of a file."""
    context = context_of(ctx)
    encoding = LineEncoding(avro, protobuf, json_schema, message, register, registry, compress)
    encoding.check(file=file is not None)
    if file is not None:
        if topic is None or days:
            raise NothingToSend(
                "--file needs a topic, and no --days.", remedy="lakehouse produce <topic> --file <file>."
            )
        encode = encoding.encode(context, topic)
        sent = _file(context, topic, file, partitions, encode, unread=unread)
    elif days:
        if topic not in {None, "flights"}:
            raise NothingToSend(f"Topic {topic} has no days.", remedy="--days is for the topic flights.")
        sent = _days(context, days, every)
    else:
        sent = _demo(context, topic)
    context.out.print(
        f"{quantity(sent, 'message')} sent to {context.settings.kafka.bootstrap_servers}", highlight=False
    )


def _file(context: Context, topic: str, file: Path, partitions: int, encode: Encode | None, *, unread: bool) -> int:
    if str(file) != "-" and not file.is_file():
        raise NothingToSend(f"{file} is not a file.", remedy="name a file of one message per line.")
    if not unread:
        _refuse_unread(context, topic)
    create_topic(own_kafka(context.settings), topic, partitions)
    with nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb") as stream:
        return send(context.settings.kafka, topic, _records(stream, encode), console=context.err)


def _refuse_unread(context: Context, topic: str) -> None:
    # It imports PySpark, which the demo's messages do without.
    from lakehouse.cli.declared import declarations_of
    from lakehouse.declarations import DeclarationError

    try:
        declarations = declarations_of(context)
    except DeclarationError as error:
        say(context, f"warning: whether a stream reads topic {topic} cannot be told: {error}")
    else:
        streams = declarations.streams.values()
        declared = sorted({name for stream in streams for name in stream.topic_names})
        declared += [topic] if topic not in declared and any(stream.reads(topic) for stream in streams) else []
        if topic not in declared and declarations.broken:
            say(
                context,
                f"warning: whether a stream reads topic {topic} cannot be told while a declaration does not load.",
            )
        else:
            refuse_unread(topic, declared)


def refuse_unread(topic: str, declared: Sequence[str]) -> None:
    """Refuse a topic that no stream reads; it would be created by the first message to it.

    Args:
        topic: to send to.
        declared: topics that streams read.

    Raises:
        UnreadTopic: says which one may be meant.
    """
    if topic not in declared:
        nearest = difflib.get_close_matches(topic, declared, n=1, cutoff=0)
        meant = f"the nearest topic that one reads is {nearest[0]}" if nearest else "no stream is declared"
        raise UnreadTopic(
            f"No declared stream reads topic {topic}; {meant}.",
            remedy="correct the name, declare a stream that reads it, or say --unread if that is meant.",
        )


def _records(lines: Iterator[bytes], encode: Encode | None) -> Iterator[Record]:
    values = (line.rstrip(b"\r\n") for line in lines if line.strip())
    return (Record(value if encode is None else encode(value)) for value in values)


def _days(context: Context, days: int, every: float) -> int:
    from lakehouse.demo import send_days  # it imports polars, which only the demo needs

    if not every:
        return send_days(own_kafka(context.settings), days, console=context.err)
    sent = 0
    for number in range(days):
        if number:
            time.sleep(every)
        sent += send_days(own_kafka(context.settings), 1, console=context.err)
    return sent


def _demo(context: Context, topic: str | None) -> int:
    from lakehouse.demo import DEMO_TOPICS, load_demo

    if topic is not None and topic not in DEMO_TOPICS:
        raise NothingToSend(
            f"{topic} is not a topic of the demo ({', '.join(DEMO_TOPICS)}).",
            remedy="send messages of your own with --file.",
        )
    topics = list(DEMO_TOPICS) if topic is None else [topic]
    return sum(load_demo(own_kafka(context.settings), topics=topics, console=context.err).values())
