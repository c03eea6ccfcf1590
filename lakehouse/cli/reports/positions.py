"""How far streams and mirrors are, and what they still have before them, as `tables` and `status` show it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from rich.table import Column, Table

from lakehouse.cli.context import Context
from lakehouse.cli.servers import local_broker
from lakehouse.declarations import Declarations, Stream
from lakehouse.engines.kafka import BrokerUnreachable, KafkaBusy, KafkaRefused, TopicMissing
from lakehouse.engines.kafka.several_topics.stream_topics import read_stream_topics
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.read_group import Pinned
from lakehouse.steps.cdc.status import MirrorStanding, mirror_standing
from lakehouse.steps.ingest.refusals import IngestRefused
from lakehouse.steps.ingest.standing import Standing


@dataclass(frozen=True)
class StreamState:
    """A stream.

    Attributes:
        position: partition (of several topics `topic:partition`) → the next offset to read; None before the first run.
        unread: offsets that wait to be read; None where no broker says, or nobody can.
        problem: why nobody can: the topic is not the one that was read.
        topics: of a stream of several, those that it has read; nothing of another.
    """

    stream: str
    topic: str
    position: Mapping[str, int] | None
    unread: int | None
    problem: str | None = None
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class MirrorState:
    """A mirror.

    Attributes:
        rows: that a reader sees; None where nobody can say without reading all of them.
        position: greatest source position in it, epoch/commit/sequence.
        source_time: newest source time reached, ISO.
        unmirrored: changes in the changelog that are not in the mirror.
        waiting_since: since when the oldest of them is in the changelog, ISO.
        delay_seconds: from Kafka's timestamp of the newest change until it was in the mirror.
        problem: why nobody can say, or why the next run will refuse.
    """

    mirror: str
    changelog: str
    rows: int | None = 0
    position: str | None = None
    source_time: str | None = None
    unmirrored: int | None = None
    waiting_since: str | None = None
    delay_seconds: float | None = None
    problem: str | None = None

    @classmethod
    def of(cls, standing: MirrorStanding, changelog: str) -> "MirrorState":
        """What a standing says, as data."""
        late = standing.delay
        return cls(
            mirror=standing.mirror,
            changelog=changelog,
            rows=standing.rows,
            position=str(standing.sealed.position) if standing.sealed and standing.sealed.position else None,
            source_time=standing.source_time.isoformat() if standing.source_time else None,
            unmirrored=None if standing.doubt else standing.waiting,
            waiting_since=standing.since.isoformat() if standing.since and not standing.doubt else None,
            delay_seconds=round(late.total_seconds(), 3) if late is not None else None,
            problem=standing.doubt or None,
        )


def stream_states(
    context: Context, declarations: Declarations, group: Mapping[str, Pinned], *, ask_broker: bool = True
) -> list[StreamState]:
    """Where each stream is; what is unread, if a broker answers. One of our own that is stopped is not asked.

    Args:
        context: for the broker, and of what cannot be said.
        declarations: of the streams.
        group: the tables that exist, as they are at one moment.
        ask_broker: whether there is a broker to ask.
    """
    broker = local_broker(context)
    answers = ask_broker and (broker is None or broker.running())
    states: list[StreamState] = []
    for stream in declarations.streams.values():
        statement = statement_of(stream, group)
        position = statement.numbers.labelled(statement.end) if statement else None
        unread, problem = None, None
        if answers:
            try:
                unread = _unread(context, stream, statement)
            except (BrokerUnreachable, KafkaBusy, KafkaRefused) as silent:
                answers = False  # once is enough to wait for
                context.leave_out(silent)
            except IngestRefused as refusal:
                problem = str(refusal)
        states.append(StreamState(stream.name, stream.topic, position, unread, problem, _topics(statement)))
    return states


def _topics(statement: KafkaStatement | None) -> tuple[str, ...]:
    return statement.numbers.names if statement is not None and statement.topics else ()


def show_problems(context: Context, states: list[StreamState]) -> None:
    """Print what is wrong with streams."""
    for state in states:
        if state.problem:
            context.out.print(state.problem, style="red", highlight=False, markup=False, soft_wrap=True)


def statement_of(stream: Stream, group: Mapping[str, Pinned]) -> KafkaStatement | None:
    """What the newest seal of a stream says of Kafka; None before the first run, and where the seal is broken."""
    try:
        sealed = group[stream.quarantine_table].sealed if stream.quarantine_table in group else None
    except SealBroken:  # told of the table itself
        return None
    return KafkaStatement.from_keys(sealed.seal.statement) if sealed else None


def _unread(context: Context, stream: Stream, statement: KafkaStatement | None) -> int | None:
    try:
        topic = read_stream_topics(context.settings.kafka, stream, statement)
    except TopicMissing:
        return None
    return sum(Standing.of(stream.name, statement, topic, first={}, snapshots={}).unread.values())


def mirror_states(declarations: Declarations, catalog: LakeCatalog) -> list[MirrorState]:
    """Where each mirror is."""
    states: list[MirrorState] = []
    for name, tables in sorted(declarations.mirrors.items()):
        try:
            states.append(MirrorState.of(mirror_standing(catalog, tables), tables.changelog.name))
        except SealBroken as broken:
            states.append(MirrorState(name, tables.changelog.name, problem=broken.message))
    return states


def show_mirrors(context: Context, states: list[MirrorState]) -> None:
    """Print the mirrors as a table, and what is wrong with one after it."""
    shown = Table(
        Column("mirror", no_wrap=True),
        Column("rows", justify="right", no_wrap=True),
        Column("position", overflow="fold"),
        Column("source time", min_width=10),
        Column("not mirrored", justify="right"),
        Column("delay", justify="right", no_wrap=True),
    )
    for state in states:
        shown.add_row(
            state.mirror,
            counted(state.rows),
            state.position or "nothing yet",
            (state.source_time or "")[:19].replace("T", " "),
            "?" if state.unmirrored is None else f"{state.unmirrored:,}",
            span(state.delay_seconds),
        )
    context.out.print(shown)
    for state in states:
        if state.problem:
            context.out.print(f"{state.mirror}: {state.problem}", style="red", highlight=False, markup=False)


def counted(rows: int | None) -> str:
    """A number of rows for people."""
    return "?" if rows is None else f"{rows:,}"


def span(seconds: float | None) -> str:
    """A length of time for people."""
    if seconds is None:
        return ""
    return f"{seconds:.1f} s" if seconds < 60 else str(timedelta(seconds=round(seconds)))
