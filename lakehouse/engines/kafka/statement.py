"""What a seal says about Kafka: from where to where, and how many offsets went to which table.

Flat string keys, without the `lakehouse.` prefix that the seal adds. Every table of a step carries the same statement,
so that a table that was rolled back, or whose count was edited, disagrees with its siblings.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec

from lakehouse import seal_keys
from lakehouse.engines.kafka.loss_ledger import AcceptedLoss, Ledger
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.engines.kafka.statement_text import tallies_of, text_of
from lakehouse.engines.kafka.tally import Tally, added

Offsets = dict[int, int]  # partition → offset
Ranges = dict[int, list[tuple[int, int]]]  # partition → ranges, each from start up to, not including, end
Tallies = dict[str, dict[int, Tally]]
LOST = "(lost)"
"""Stands for a table in tallies: offsets that were gone, or could not be read, accepted by a person."""
# Stands for a table in tallies, below zero: of records that went to several tables, all rows but one of each.
COPIES = "(copies)"
DUPLICATE, FILTERED = "(duplicate)", "(filtered)"  # stand for tables: records that a declared rule has dropped
DROPPED = (DUPLICATE, FILTERED)
NO_TABLES = frozenset({LOST, *DROPPED})
# Why planned offsets of a sound log may bring no record.
WITHOUT_RECORD = {
    "compaction": "the topic is compacted, so that Kafka removes records whose key comes again",
    "transactions": "producers write in transactions, whose markers and aborted records take offsets",
}


class Counts(msgspec.Struct, frozen=True):
    """Records of one step, or since the beginning.

    Attributes:
        read: fetched from Kafka.
        written: landed in a table of the stream.
        quarantined: landed in quarantine; tombstones are among them.
        tombstones: records without a value.
        filtered: neither, by a declared rule; tallied by partition under `DROPPED`.
        lost: offsets that were gone before they could be read, or could not be read, accepted by a person.
        bytes: keys, values and headers of the records read.
    """

    read: int = 0
    written: int = 0
    quarantined: int = 0
    tombstones: int = 0
    filtered: int = 0
    lost: int = 0
    bytes: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        """Both together."""
        left, right = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        return Counts(**{name: left[name] + right[name] for name in left})


@dataclass(frozen=True)
class KafkaStatement:
    """The Kafka part of a seal.

    Args:
        start: partition → first offset of the step, for every partition of the topic.
        end: partition → first offset after the step: the stream's position.
        tallies: table → partition → tally of this step, quarantine included.
        totals: the same since the beginning, this step included.
        origin: partition → the first offset that the running totals cover; empty where totals span several topics.
        lost: ranges that this step gave up; their tally is under `LOST`.
        counts: records of this step.
        total_counts: records since the beginning.
        valid_through_ms: when the position was the end of the log, milliseconds since the epoch; 0 if it was not.
        retired: table → partition → tally of rows that retention has removed since the beginning; totals count them.
        refused_last: partition → how many of its last records were refused, one after the other, tombstones aside; 0
            is left out. None: the step read nothing, or its seal is of a version that did not count them.
        losses: the loss ledger, everything that was ever accepted, this step included; newest last.
        reprocessed: table → partition → tally of rows that came to it from the quarantine since the beginning.
        without_record: partition → offsets of this step that brought no record, where there are any. None: the step
            did not compare what it read with what it had planned, or is of a version that did not.
        because: why that can be, a key of `WITHOUT_RECORD`; empty where there are none.
        leader_epochs: partition → epoch of its leader when the position was planned; without those of seals that are
            of a version that did not ask.
        without_coordinates: table → rows that another writer left and a person adopted: no offset says which records
            they are, so neither tallies nor totals count them.
        logs: how many topics or clusters the totals span, each from where it was first read; 1 as well where nobody
            knows any more, as rows were adopted.
        topics: name and id of each topic of a stream of several, in the order of their numbers; `topic` is what
            messages call them then, and partitions are stream partitions, see `topic_numbers`.
    """

    cluster_id: str
    topic: str
    topic_id: str
    start: Offsets
    end: Offsets
    tallies: Tallies = field(default_factory=dict[str, dict[int, Tally]])
    totals: Tallies = field(default_factory=dict[str, dict[int, Tally]])
    origin: Offsets = field(default_factory=dict[int, int])
    lost: Ranges = field(default_factory=dict[int, list[tuple[int, int]]])
    counts: Counts = field(default_factory=Counts)
    total_counts: Counts = field(default_factory=Counts)
    valid_through_ms: int = 0
    retired: Tallies = field(default_factory=dict[str, dict[int, Tally]])
    refused_last: Offsets | None = None
    losses: Ledger = ()
    reprocessed: Tallies = field(default_factory=dict[str, dict[int, Tally]])
    without_record: Offsets | None = None
    because: str = ""
    logs: int = 1
    leader_epochs: Offsets = field(default_factory=dict[int, int])
    without_coordinates: Mapping[str, int] = field(default_factory=dict[str, int])
    topics: tuple[tuple[str, str], ...] = ()

    @property
    def numbers(self) -> TopicNumbers:
        """What the numbers of its partitions mean."""
        return TopicNumbers(self.topics or ((self.topic, self.topic_id),), many=bool(self.topics))

    def to_keys(self) -> dict[str, str]:
        """The statement as flat keys."""
        return {
            seal_keys.KAFKA_CLUSTER_ID: self.cluster_id,
            seal_keys.KAFKA_TOPIC: self.topic,
            seal_keys.KAFKA_TOPIC_ID: self.topic_id,
            seal_keys.KAFKA_START: text_of(self.start),
            seal_keys.KAFKA_END: text_of(self.end),
            seal_keys.KAFKA_TALLIES: text_of(self.tallies),
            seal_keys.KAFKA_TOTALS: text_of(self.totals),
            seal_keys.KAFKA_ORIGIN: text_of(self.origin),
            seal_keys.KAFKA_LOST: text_of(self.lost),
            seal_keys.KAFKA_COUNTS: text_of(self.counts),
            seal_keys.KAFKA_TOTAL_COUNTS: text_of(self.total_counts),
            seal_keys.KAFKA_VALID_THROUGH_MS: str(self.valid_through_ms),
            **({seal_keys.KAFKA_RETIRED: text_of(self.retired)} if self.retired else {}),
            **({seal_keys.KAFKA_REFUSED_LAST: text_of(self.refused_last)} if self.refused_last is not None else {}),
            **({seal_keys.KAFKA_LOSSES: msgspec.json.encode(self.losses).decode()} if self.losses else {}),
            **({seal_keys.KAFKA_REPROCESSED: text_of(self.reprocessed)} if self.reprocessed else {}),
            **(
                {seal_keys.KAFKA_WITHOUT_RECORD: text_of(self.without_record)}
                if self.without_record is not None
                else {}
            ),
            **({seal_keys.KAFKA_WITHOUT_RECORD_BECAUSE: self.because} if self.because else {}),
            **({seal_keys.KAFKA_LOGS: str(self.logs)} if self.logs > 1 else {}),
            **({seal_keys.KAFKA_LEADER_EPOCHS: text_of(self.leader_epochs)} if self.leader_epochs else {}),
            **({seal_keys.KAFKA_TOPICS: msgspec.json.encode(self.topics).decode()} if self.topics else {}),
            **(
                {seal_keys.KAFKA_WITHOUT_COORDINATES: text_of(dict(self.without_coordinates))}
                if self.without_coordinates
                else {}
            ),
        }

    @classmethod
    def from_keys(cls, keys: Mapping[str, str]) -> "KafkaStatement | None":
        """Read a statement back, or None where the keys are not about Kafka."""
        if seal_keys.KAFKA_END not in keys:
            return None
        return cls(
            cluster_id=keys[seal_keys.KAFKA_CLUSTER_ID],
            topic=keys[seal_keys.KAFKA_TOPIC],
            topic_id=keys[seal_keys.KAFKA_TOPIC_ID],
            start=msgspec.json.decode(keys[seal_keys.KAFKA_START], type=dict[int, int]),
            end=msgspec.json.decode(keys[seal_keys.KAFKA_END], type=dict[int, int]),
            tallies=tallies_of(keys[seal_keys.KAFKA_TALLIES]),
            totals=tallies_of(keys[seal_keys.KAFKA_TOTALS]),
            origin=msgspec.json.decode(keys[seal_keys.KAFKA_ORIGIN], type=dict[int, int]),
            lost=msgspec.json.decode(keys[seal_keys.KAFKA_LOST], type=dict[int, list[tuple[int, int]]]),
            counts=msgspec.json.decode(keys[seal_keys.KAFKA_COUNTS], type=Counts),
            total_counts=msgspec.json.decode(keys[seal_keys.KAFKA_TOTAL_COUNTS], type=Counts),
            valid_through_ms=int(keys[seal_keys.KAFKA_VALID_THROUGH_MS]),
            retired=tallies_of(keys.get(seal_keys.KAFKA_RETIRED, "{}")),
            without_record=msgspec.json.decode(
                keys.get(seal_keys.KAFKA_WITHOUT_RECORD, "null"), type=dict[int, int] | None
            ),
            because=keys.get(seal_keys.KAFKA_WITHOUT_RECORD_BECAUSE, ""),
            refused_last=msgspec.json.decode(
                keys.get(seal_keys.KAFKA_REFUSED_LAST, "null"), type=dict[int, int] | None
            ),
            losses=msgspec.json.decode(keys.get(seal_keys.KAFKA_LOSSES, "[]"), type=tuple[AcceptedLoss, ...]),
            reprocessed=tallies_of(keys.get(seal_keys.KAFKA_REPROCESSED, "{}")),
            logs=int(keys.get(seal_keys.KAFKA_LOGS, "1")),
            leader_epochs=msgspec.json.decode(keys.get(seal_keys.KAFKA_LEADER_EPOCHS, "{}"), type=dict[int, int]),
            topics=msgspec.json.decode(keys.get(seal_keys.KAFKA_TOPICS, "[]"), type=tuple[tuple[str, str], ...]),
            without_coordinates=msgspec.json.decode(
                keys.get(seal_keys.KAFKA_WITHOUT_COORDINATES, "{}"), type=dict[str, int]
            ),
        )

    def after(self, previous: "KafkaStatement | None") -> "KafkaStatement":
        """The same statement with running totals (and their origin) and losses on top of the previous one's."""
        origin = self.start
        if previous is not None:
            # Totals that span several topics, or rows of unknown origin, go on doing so.
            origin = {**self.start, **previous.origin} if previous.origin else {}
        return replace(
            self,
            origin=origin,
            totals=added(previous.totals if previous else {}, self.tallies),
            total_counts=(previous.total_counts if previous else Counts()) + self.counts,
            retired=previous.retired if previous else {},
            refused_last=previous.refused_last if previous and self.refused_last is None else self.refused_last,
            losses=(*(previous.losses if previous else ()), *self.losses),
            reprocessed=added(previous.reprocessed if previous else {}, self.reprocessed),
            logs=previous.logs if previous else self.logs,
            without_coordinates=previous.without_coordinates if previous else self.without_coordinates,
        )

    def without_rows(self, table: str, tallies: Mapping[int, Tally]) -> "KafkaStatement":
        """What a step says that reads nothing and lets rows of a table go: the position as it was, and what went."""
        return replace(
            self,
            start=dict(self.end),
            tallies={},
            lost={},
            counts=Counts(),
            without_record=None,
            because="",
            retired=added(self.retired, {table: dict(tallies)}),
        )

    @property
    def is_from_beginning(self) -> bool:
        """Whether the totals cover all that the stream has ever read, of every log."""
        return bool(self.origin) or self.logs > 1

    def reprocessed_rows(self, table: str) -> int:
        """How many rows of a table came to it from the quarantine since the beginning."""
        return sum(tally.count for tally in self.reprocessed.get(table, {}).values())

    def removed_rows(self, table: str) -> int:
        """How many rows of a table deduplication or retirement has removed since the beginning."""
        return sum(tally.count for tally in self.retired.get(table, {}).values())

    @property
    def dropped(self) -> dict[str, int]:
        """Rule → records that it has dropped since the beginning."""
        counts = {name: sum(tally.count for tally in self.totals.get(name, {}).values()) for name in DROPPED}
        return {name.strip("()"): count for name, count in counts.items() if count}

    @property
    def expected(self) -> Tallies:
        """Table → partition → tally of the rows that should be there now."""
        return {
            table: {p: tally - self.retired.get(table, {}).get(p, Tally()) for p, tally in by_partition.items()}
            for table, by_partition in self.totals.items()
        }
