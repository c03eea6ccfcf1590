"""`lakehouse status`: what runs, what the topics hold, and how far behind streams and mirrors are."""

import json
from dataclasses import asdict, dataclass, field
from typing import Annotated

import typer
from rich.table import Column, Table

from lakehouse.cli.context import Context, catalog_of, context_of
from lakehouse.cli.declared import all_declarations
from lakehouse.cli.refusals import refusal_of
from lakehouse.cli.reports.positions import (
    MirrorState,
    StreamState,
    mirror_states,
    show_mirrors,
    show_problems,
    stream_states,
)
from lakehouse.cli.servers import connect_server_here, local_broker
from lakehouse.engines.kafka import BrokerUnreachable, KafkaBusy, KafkaRefused, read_topic, topic_names
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.seals.read_group import read_group


@dataclass(frozen=True)
class Topic:
    """What a topic holds: `messages` counts offsets, which transactions' markers and compaction make a little more."""

    topic: str
    partitions: int
    messages: int


@dataclass(frozen=True)
class Status:
    """What runs and where."""

    state: str
    kafka: str
    kafka_up: bool
    broker_pid: int | None
    connect_pid: int | None
    topics: list[Topic]
    streams: list[StreamState] = field(default_factory=list[StreamState])
    mirrors: list[MirrorState] = field(default_factory=list[MirrorState])


def status(
    ctx: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show what runs, where, what the topics hold, and what streams and mirrors have still before them."""
    context = context_of(ctx)
    state = _status(context)
    if as_json:
        typer.echo(json.dumps(asdict(state), indent=2))
        return
    servers = Table("server", "", "where", "process")
    servers.add_row("Kafka", "up" if state.kafka_up else "down", state.kafka, _number(state.broker_pid))
    servers.add_row("Spark Connect", "up" if state.connect_pid else "down", "", _number(state.connect_pid))
    context.out.print(servers)
    if state.topics:
        context.out.print(_topics(state))
    show_problems(context, state.streams)
    if state.mirrors:
        show_mirrors(context, state.mirrors)
    context.out.print(f"State is in {state.state}", soft_wrap=True)


def _status(context: Context) -> Status:
    settings = context.settings
    broker, connect = local_broker(context), connect_server_here(context)
    reachable, topics = False, list[Topic]()
    if broker is None or broker.running():
        try:
            topics = [_topic(context, name) for name in topic_names(settings.kafka)]
            reachable = True
        except (BrokerUnreachable, KafkaBusy, KafkaRefused) as silent:
            context.leave_out(silent)
    streams, mirrors = list[StreamState](), list[MirrorState]()
    try:
        streams, mirrors = _behind(context, ask_broker=reachable)
    except Exception as error:
        # What runs is told also where a declaration is broken or the catalog is away.
        refusal = error if isinstance(error, LakehouseError) else refusal_of(error, context)
        if refusal is None:
            raise
        context.leave_out(refusal)
    return Status(
        state=str(settings.state.root),
        kafka=settings.kafka.bootstrap_servers,
        kafka_up=reachable,
        broker_pid=broker.pid if broker else None,
        connect_pid=connect.pid if connect else None,
        topics=topics,
        streams=streams,
        mirrors=mirrors,
    )


def _behind(context: Context, *, ask_broker: bool) -> tuple[list[StreamState], list[MirrorState]]:
    if not context.settings.declarations:
        return [], []
    declarations, catalog = all_declarations(context), catalog_of(context)
    names = [stream.quarantine_table for stream in declarations.streams.values()]
    existing = [name for name in names if catalog.table_exists(identifier_of(name))]
    group = read_group(catalog, existing) if existing else {}
    streams = stream_states(context, declarations, group, ask_broker=ask_broker)
    return streams, mirror_states(declarations, catalog)


def _topics(status_report: Status) -> Table:
    shown = Table(
        Column("topic", no_wrap=True),
        Column("partitions", justify="right"),
        Column("messages", justify="right", no_wrap=True),
        "read by",
        Column("unread", justify="right", no_wrap=True),
    )
    for topic in status_report.topics:
        reader = next((state for state in status_report.streams if topic.topic in (state.topic, *state.topics)), None)
        shown.add_row(
            topic.topic,
            f"{topic.partitions}",
            f"{topic.messages:,}",
            reader.stream if reader else "",
            f"{reader.unread:,}" if reader and reader.unread is not None else "",
        )
    return shown


def _topic(context: Context, name: str) -> Topic:
    ranges = read_topic(context.settings.kafka, name).partitions.values()
    return Topic(name, len(ranges), sum(limits.last_stable - limits.earliest for limits in ranges))


def _number(pid: int | None) -> str:
    return str(pid) if pid else ""
