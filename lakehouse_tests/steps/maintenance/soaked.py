"""What a soak is about: a stream of changes with two mirrors, a plain stream, and the source that never stops."""

import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import (
    Changelog,
    Expire,
    Flat,
    Maintenance,
    Manifests,
    Mirror,
    Rewrite,
    Stream,
    Table,
    ToTable,
)
from lakehouse.engines.kafka import Record, send
from lakehouse.settings import KafkaSettings
from lakehouse_tests.declarations.declaring import declare

LOG, READINGS = "changelog.things", "raw.readings"
COPIED, MARKED = "mirror.copied", "mirror.marked"
PARTITIONS = 3
_WINDOW, _CHANGES, _READINGS = 60, 15, 10
_BROKEN_EACH, _DELETED_EACH = 40, 8
_IDS_PER_PARTITION = 250

_EXPIRE = Expire(max_snapshot_age=timedelta(milliseconds=1), min_snapshots_to_keep=5, max_snapshots=30, at_least=10)
DECLARED = """
from lakehouse_tests.steps.maintenance.soaked import declared

log, copied, marked, readings, stream = declared({changes!r}, {readings!r})
"""


def eager(quiet_for: timedelta = timedelta(0), every_commits: int | None = None) -> Maintenance:
    """Much is worth it, and soon."""
    rewrite = Rewrite(min_input_files=3, quiet_for=quiet_for, every_commits=every_commits)
    return Maintenance(rewrite=rewrite, manifests=Manifests(min_count=8), expire=_EXPIRE, orphans=None)


def declared(changes: str, readings: str) -> tuple[Changelog, Mirror, Mirror, Table, Stream]:
    """All of it. One mirror is written by either kind of MERGE: files anew, or delete files.

    Args:
        changes: topic of the changes.
        readings: topic of the plain stream.
    """
    row = {"id": pandera.Column(T.LongType(), nullable=False), "name": pandera.Column(T.StringType(), nullable=True)}
    log = Changelog(
        name=LOG,
        topic=changes,
        stream="things",
        row=pandera.DataFrameSchema(row),
        key=("id",),
        description="Things.",
        owner="tests",
        format=Flat(source_time="__source_ts_ms"),
        max_quarantine_share=1.0,
        maintenance=eager(),
    )
    copied = Mirror(
        name=COPIED,
        changelog=log,
        partitioning=(f"truncate({_IDS_PER_PARTITION}, id)",),
        properties={"write.merge.mode": "copy-on-write"},
        maintenance=eager(quiet_for=timedelta(seconds=5)),
    )
    marked = Mirror(name=MARKED, changelog=log, properties={"write.merge.mode": "merge-on-read"}, maintenance=eager())
    table = declare({"n": T.LongType()}, name=READINGS, maintenance=eager(every_commits=4))
    stream = Stream(name="readings", topic=readings, route=ToTable(READINGS), max_quarantine_share=1.0)
    return log, copied, marked, table, stream


@dataclass
class Source:
    """What is in the topics: sent as fast as it is asked for, and remembered.

    Mostly the newest rows change, and a key keeps to its partition, as from a database.

    Attributes:
        changes: topic of the changes.
        readings: topic of the plain stream.
        rows: what mirrors should hold.
        accepted: table → partition and offset of each record that is to become a row of it.
    """

    kafka: KafkaSettings
    changes: str
    readings: str
    rows: dict[int, str] = field(default_factory=dict[int, str])
    accepted: dict[str, set[tuple[int, int]]] = field(default_factory=dict[str, set[tuple[int, int]]])
    _ends: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    _dice: random.Random = field(default_factory=lambda: random.Random(6))
    _position: int = 0
    _ids: int = 0

    @property
    def sent(self) -> int:
        """Records, of both topics."""
        return self._ends.total()

    def send(self) -> None:
        """Some changes and some readings."""
        send(self.kafka, self.changes, [record for _ in range(_CHANGES) for record in self._change()])
        send(self.kafka, self.readings, [self._reading() for _ in range(_READINGS)])

    def _change(self) -> list[Record]:
        self._position += 1
        if self._dice.random() < 1 / 3:
            self._ids += 1
        key = max(self._ids - self._dice.randrange(_WINDOW), 0)
        if self._broken():
            return [self._record("quarantine.things", self.changes, b"{", key)]
        name = None if key in self.rows and self._dice.random() < 1 / _DELETED_EACH else f"v{self._position}"
        operation = "d" if name is None else "u" if key in self.rows else "c"
        fields = {"__op": operation, "__source_lsn": self._position, "__source_ts_ms": time.time_ns() // 1_000_000}
        change = self._record(LOG, self.changes, json.dumps({"id": key, "name": name, **fields}).encode(), key)
        if name is not None:
            self.rows[key] = name
            return [change]
        del self.rows[key]
        return [change, self._record(LOG, self.changes, None, key)]

    def _reading(self) -> Record:
        number = self._dice.randrange(1000)
        if self._broken():
            return self._record("quarantine.readings", self.readings, b"[", number)
        return self._record(READINGS, self.readings, json.dumps({"n": number}).encode(), number)

    def _broken(self) -> bool:
        return self._dice.randrange(_BROKEN_EACH) == 0

    def _record(self, table: str, topic: str, value: bytes | None, key: int) -> Record:
        partition = key % PARTITIONS
        self.accepted.setdefault(table, set()).add((partition, self._ends[topic, partition]))
        self._ends[topic, partition] += 1
        return Record(value, json.dumps({"id": key}).encode(), partition)
