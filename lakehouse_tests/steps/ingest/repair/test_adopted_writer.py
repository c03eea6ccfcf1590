"""A table that another writer has filled becomes a stream's: its rows stay, and the proof begins with the adoption.

Guarded mechanism: rows without coordinates are as many as were adopted.
"""

import json

import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from lakehouse.declarations import Declarations, Stream, ToTable, apply, plan, quarantine_table
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.repair import adoption as module
from lakehouse.steps.ingest.repair.adoption import Adoption, RowsOfOtherTopics, adopt, find_adoption
from lakehouse.steps.ingest.repair.go_on import GoOn, GoOnFrom
from lakehouse.steps.ingest.routes.applied_tables import require_applied
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.ingest.in_process import InProcess

NAME = "raw.taken"
FIELDS = {
    "id": (LongType(), T.LongType()),
    "topic": (StringType(), T.StringType()),
    "partition": (LongType(), T.LongType()),
    "offset": (LongType(), T.LongType()),
}


class Taken(InProcess):
    """A table of somebody else's, with rows of offsets 0 to 4 of partition 0."""

    def fill(self, *names: str, topic: str = "things") -> None:
        """Make and fill it, with some of the columns alone."""
        self.names = names
        self.catalog.create_namespace_if_not_exists("raw")
        fields = [NestedField(n, name, FIELDS[name][0], required=False) for n, name in enumerate(names, 1)]
        values = {"id": range(5), "topic": [topic] * 5, "partition": [0] * 5, "offset": range(5)}
        table = self.catalog.create_table(NAME, Schema(*fields))
        table.append(pa.table({name: pa.array(values[name]) for name in names}))
        declared = [
            declare({name: FIELDS[name][1] for name in names}, name=NAME).with_coordinates(),
            quarantine_table(self.stream, "tests"),
        ]
        self.declarations = Declarations({t.name: t for t in declared}, {"things": self.stream}, {})

    def adopted(self, monkeypatch: pytest.MonkeyPatch, go_on: GoOn, end: int = 5) -> Adoption:
        """As the command does it."""
        topic = TopicState("things", "cluster", "topic-id", {0: PartitionRange(0, end)})
        monkeypatch.setattr(module, "read_stream_topics", lambda kafka, declared, previous: topic)
        for table in self.declarations.tables.values():
            apply(plan(table, self.catalog, adopting=True), self.catalog)
        bases = read_bases(self.catalog, self.tables)
        adoption = find_adoption(self.step("adopt"), bases, go_on)
        adopt(self.step("adopt"), bases, adoption)
        self.ends = {0: end}
        require_applied(self.declarations, read_bases(self.catalog, self.tables))
        return adoption


@pytest.fixture
def taken(sql_lake: Lake) -> Taken:
    return Taken(open_catalog(sql_lake.settings), Stream(name="things", topic="things", route=ToTable(NAME)))


def thing(number: int) -> tuple[None, bytes]:
    return None, json.dumps({"id": number}).encode()


def test_rows_that_name_no_record_are_counted_and_stay(taken: Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    taken.fill("id")
    adoption = taken.adopted(monkeypatch, GoOn(GoOnFrom.OFFSETS, offsets={0: 5}))
    assert adoption.without_coordinates == {NAME: 5}
    assert adoption.statement.end == {0: 5}
    taken.ingest({0: [thing(5), thing(6)]})
    proof = taken.holds()
    assert (proof.read, proof.position) == (2, {0: 7})
    assert sorted(row["id"] for row in taken.load(NAME).scan().to_arrow().to_pylist()) == list(range(7))
    taken.load(NAME).delete("id = 3")
    assert any("4 rows without Kafka coordinates" in f.message for f in taken.audit().findings)


@pytest.mark.slow
def test_its_own_columns_say_where_to_go_on_and_what_would_come_again(
    taken: Taken, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken.fill("id", "topic", "partition", "offset")
    adoption = taken.adopted(monkeypatch, GoOn(GoOnFrom.ROWS), end=9)
    assert (adoption.statement.end, adoption.read_again, adoption.not_in_rows) == ({0: 5}, {}, {})
    taken.ingest({})  # what was in the topic behind these rows
    taken.holds()


@pytest.mark.slow
def test_a_position_before_its_rows_names_them(taken: Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    taken.fill("id", "topic", "partition", "offset")
    adoption = taken.adopted(monkeypatch, GoOn(GoOnFrom.OFFSETS, offsets={0: 3}))
    assert adoption.read_again == {0: 2}


@pytest.mark.slow
def test_rows_of_other_topics_are_refused(taken: Taken, monkeypatch: pytest.MonkeyPatch) -> None:
    taken.fill("id", "topic", "partition", "offset", topic="another")
    with pytest.raises(RowsOfOtherTopics, match="5 rows of other topics than things"):
        taken.adopted(monkeypatch, GoOn(GoOnFrom.ROWS))
