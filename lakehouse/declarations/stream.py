"""A stream, declared once: a topic, its format, where its records go, and from where on they are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Literal

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import check_stream_name, check_topic_name, table_identifier
from lakehouse.declarations.formats.change_format import ChangeFormat
from lakehouse.declarations.formats.mixed_format import Encoded, RecordFormat
from lakehouse.declarations.formats.record_format import Raw
from lakehouse.declarations.named_tables import ToNamed
from lakehouse.declarations.policies.topics import TopicPattern, Topics
from lakehouse.declarations.policies.trigger import Trigger
from lakehouse.declarations.routes import ByField, ByHeader, BySource, ByTopic, Route, ToAll, ToTable, check_route

MAX_QUARANTINE_RECORDS = 20
"""So many unacceptable records of one run are no reason to stop a stream, unless it says otherwise."""


@dataclass(frozen=True)
class Start:
    """Where a stream begins when its tables have no position yet; afterwards the position in their seals counts."""

    kind: Literal["earliest", "latest", "timestamp", "offsets"]
    moment: datetime | None = None
    positions: Mapping[int, int] = field(default_factory=dict[int, int])

    @classmethod
    def earliest(cls) -> "Start":
        """Begin with the oldest record that Kafka still has."""
        return cls("earliest")

    @classmethod
    def latest(cls) -> "Start":
        """Begin with what arrives after the first run."""
        return cls("latest")

    @classmethod
    def timestamp(cls, moment: datetime) -> "Start":
        """Begin with the first record of this moment or later.

        Raises:
            DeclarationError: the moment has no zone, so it is many moments.
        """
        if moment.tzinfo is None:
            raise DeclarationError("Start.timestamp: the moment has no zone.", remedy="write datetime(…, tzinfo=UTC).")
        return cls("timestamp", moment=moment)

    @classmethod
    def offsets(cls, positions: Mapping[int, int]) -> "Start":
        """Begin with this offset of each partition named; the others begin with their oldest record.

        Raises:
            DeclarationError: a partition or offset is negative, or none is given.
        """
        if not positions or any(partition < 0 or offset < 0 for partition, offset in positions.items()):
            raise DeclarationError(
                "Start.offsets: partitions and offsets begin at 0.", remedy="write {partition: offset}."
            )
        return cls("offsets", positions=dict(positions))


@dataclass(frozen=True, kw_only=True, eq=False)
class Stream:
    """A stream.

    Attributes:
        name: names the Dagster asset group, the pool and the quarantine table.
        topic: the Kafka topic; of a stream of several, what messages call them.
        topics: `Topics("a", "b")` or `TopicPattern("orders[.].+")` in the place of `topic`: all of them are read by
            one step, and their tables change in one publish.
        route: `ToTable`, `ToAll`, `ByField`, `ByHeader`, `ByTopic` or `ToNamed`; `BySource` for changes.
        format: how records are encoded: `"json"`, `Avro(…)`, `JsonSchema(…)`, `Protobuf(…)`, `Raw()`, or `Mixed(…)` of
            them; a stream of changes is made from its changelogs, with their format.
        start: where it begins the first time.
        max_quarantine_share: a run with a larger share of unacceptable records, and with more of them than
            `max_quarantine_records`, fails before it publishes anything; with 0 it fails at the first one. Below 1 it
            fails as well when the last 20 records of a partition, also of runs before, were all unacceptable.
        max_quarantine_records: up to so many unacceptable records of a run are no reason to fail, whatever their share.
        freshness: how old the oldest unread record may be before the stream's check warns.
        quarantine: the table for what could not be accepted; `quarantine.<name>` if None.
        keep_refused: `lakehouse quarantine expire` removes refused records that are older; None keeps them forever.
        replay_from: from this day on, Dagster has an asset with a partition for each day, which reads the day's records
            again and compares them with the tables.
        trigger: when it is read, and how much one run may take; as the settings say if nothing is given.
    """

    name: str
    topic: str = ""
    topics: Topics | TopicPattern | None = None
    route: Route
    format: RecordFormat | ChangeFormat = "json"
    start: Start = field(default_factory=Start.earliest)
    max_quarantine_share: float = 0.01
    max_quarantine_records: int = MAX_QUARANTINE_RECORDS
    freshness: timedelta = timedelta(hours=1)
    quarantine: str | None = None
    keep_refused: timedelta | None = None
    replay_from: date | None = None
    trigger: Trigger = field(default_factory=Trigger)

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        check_stream_name(self.name)
        self._check_topics()
        if self.format != "json" and not isinstance(self.format, Encoded) and not self.changes:
            raise DeclarationError(
                f"Stream {self.name}: unknown format '{self.format}'.",
                remedy='write "json", Avro(…), JsonSchema(…), Protobuf(…), Raw() or Mixed(…).',
            )
        if not 0 <= self.max_quarantine_share <= 1:
            raise DeclarationError(
                f"Stream {self.name}: max_quarantine_share is {self.max_quarantine_share}.", remedy="choose 0 to 1."
            )
        if self.max_quarantine_records < 0:
            raise DeclarationError(
                f"Stream {self.name}: max_quarantine_records is {self.max_quarantine_records}.",
                remedy="choose 0 or more.",
            )
        if self.freshness <= timedelta(0):
            raise DeclarationError(
                f"Stream {self.name}: freshness is {self.freshness}.", remedy="write a timedelta longer than nothing."
            )
        if self.keep_refused is not None and self.keep_refused < timedelta(days=1):
            raise DeclarationError(
                f"Stream {self.name}: keep_refused is {self.keep_refused}.", remedy="write a day or longer, or None."
            )
        self._check_route()
        for table in (*self.tables, self.quarantine_table):
            table_identifier(table)
        if self.quarantine_table in self.tables:
            raise DeclarationError(
                f"Stream {self.name}: {self.quarantine_table} is both a target and the quarantine.",
                remedy="give the quarantine a table of its own.",
            )

    def _check_route(self) -> None:
        if isinstance(self.route, ByField | ToNamed) and self.route.field and isinstance(self.format, Raw):
            raise DeclarationError(
                f"Stream {self.name}: a raw record has no field {self.route.field} that could choose its table.",
                remedy="write ToTable(…), or another format.",
            )
        of_records = ToTable | ToAll | ByField | ByHeader | ByTopic | ToNamed
        if not isinstance(self.route, BySource if self.changes else of_records):
            raise DeclarationError(f"Stream {self.name}: no route.", remedy="write ToTable(…) or ByField(…).")
        check_route(self.name, self.route)

    def _check_topics(self) -> None:
        if self.topics is None:
            check_topic_name(self.name, self.topic)
            return
        if not isinstance(self.topics, Topics | TopicPattern):
            raise DeclarationError(
                f"Stream {self.name}: topics is {self.topics!r}.",
                remedy='write topic="…" for one, topics=Topics("…", "…") or topics=TopicPattern("…") for several.',
            )
        if self.topic:
            raise DeclarationError(
                f"Stream {self.name}: it has both a topic and topics.", remedy="write one of them: topics=Topics(…)."
            )
        self.topics.check(self.name)
        if self.changes:
            raise DeclarationError(
                f"Stream {self.name}: changes come from one topic, whose order is the source's.",
                remedy="declare a stream for each topic.",
            )
        if self.start.kind == "offsets":
            raise DeclarationError(
                f"Stream {self.name}: Start.offsets is of the partitions of one topic.",
                remedy="write Start.earliest(), latest() or timestamp(…).",
            )
        object.__setattr__(self, "topic", str(self.topics))

    @property
    def topic_names(self) -> tuple[str, ...]:
        """The topics that it reads by name; none of a pattern."""
        match self.topics:
            case None:
                return (self.topic,)
            case Topics():
                return self.topics.names
            case TopicPattern():
                return ()

    def reads(self, topic: str) -> bool:
        """Whether it reads a topic."""
        return topic in (self.topic_names if self.topics is None else self.topics.chosen([topic]))

    @property
    def changes(self) -> bool:
        """Whether its records are changes, which end in changelogs."""
        return isinstance(self.format, ChangeFormat)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that records go to, without the quarantine."""
        return self.route.tables

    @property
    def quarantine_table(self) -> str:
        """The table for what could not be accepted."""
        return self.quarantine or f"quarantine.{self.name}"
