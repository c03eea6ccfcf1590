"""`lakehouse status`: what runs, and what the topics hold."""

import json
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.table import Table

from lakehouse.cli.context import Context, context_of
from lakehouse.cli.servers import connect_server_here, local_broker
from lakehouse.kafka import BrokerUnreachable, read_topic, topic_names


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


def status(
    ctx: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show what runs, where, and what the topics hold."""
    context = context_of(ctx)
    found = _status(context)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
        return
    servers = Table("server", "", "where", "process")
    servers.add_row("Kafka", "up" if found.kafka_up else "down", found.kafka, _number(found.broker_pid))
    servers.add_row("Spark Connect", "up" if found.connect_pid else "down", "", _number(found.connect_pid))
    context.out.print(servers)
    if found.topics:
        topics = Table("topic", "partitions", "messages")
        for topic in found.topics:
            topics.add_row(topic.topic, f"{topic.partitions}", f"{topic.messages:,}")
        context.out.print(topics)
    context.out.print(f"State is in {found.state}", soft_wrap=True)


def _status(context: Context) -> Status:
    settings = context.settings
    broker, connect = local_broker(context), connect_server_here(context)
    up, topics = False, list[Topic]()
    if broker is None or broker.running():
        try:
            topics = [_topic(context, name) for name in topic_names(settings.kafka)]
            up = True
        except BrokerUnreachable as silent:
            context.err.print(silent.message, soft_wrap=True)
    return Status(
        state=str(settings.state.root),
        kafka=settings.kafka.bootstrap_servers,
        kafka_up=up,
        broker_pid=broker.pid if broker else None,
        connect_pid=connect.pid if connect else None,
        topics=topics,
    )


def _topic(context: Context, name: str) -> Topic:
    ranges = read_topic(context.settings.kafka, name).partitions.values()
    return Topic(name, len(ranges), sum(limits.last_stable - limits.earliest for limits in ranges))


def _number(pid: int | None) -> str:
    return str(pid) if pid else ""
