"""A stream of three tables that three runs have written, before it is set back."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.declarations import Stream
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.catalog.change import TableChange, ref_is, set_branch
from lakehouse.protocol.seals.history import head_of, summary_of
from lakehouse.steps.maintenance.rollback.move import (
    Move,
    carry_out,
    find_move,
)
from lakehouse.steps.maintenance.rollback.points import Direction
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream


class Standing(SimulatedStream):
    """A stream of three tables that three runs have written."""

    asked = 0

    def ask(self, stream: Stream, statement: KafkaStatement) -> TopicState:
        assert (stream.topic, statement.topic) == ("events", "events")
        self.asked += 1
        return self.topic()

    def find(self, direction: Direction, run: str = "", names: Sequence[str] = (A,)) -> Move:
        return find_move(self.catalog, self.declarations, names, direction, run=run, read_topic=self.ask)

    def move(self, direction: Direction, run: str = "", names: Sequence[str] = (A,)) -> Move:
        move = self.find(direction, run, names)
        carry_out(self.catalog, self.declarations, move)
        return move

    def heads(self) -> list[int | None]:
        return [head_of(self.load(name)) for name in self.tables]

    def set_back_alone(self, name: str, snapshot_id: int) -> None:
        head = head_of(self.load(name))
        change = TableChange(tuple(name.split(".")), (ref_is("main", head),), (set_branch("main", snapshot_id),))
        self.catalog.commit_tables([change])


def is_seal(snapshot: Snapshot) -> bool:
    return seal_keys.VERSION in summary_of(snapshot)


@pytest.fixture
def stream(tmp_path: Path) -> Standing:
    standing = Standing(open_catalog(sql_settings(tmp_path)))
    for _ in range(3):
        standing.ingest({0: 4, 1: 3})
    return standing
