"""Refused records that are taken up again are in their table, once, and the audit proves that they have moved."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table import Transaction

from lakehouse.declarations import ByField, Stream, Table
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.errors import Superseded
from lakehouse.protocol.failpoints import InjectedFault
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import last_seal
from lakehouse.steps.ingest.refusals import PositionsDiffer
from lakehouse.steps.ingest.repair.acceptable_records import NothingToReprocess, Reprocess, find_reprocess
from lakehouse.steps.ingest.repair.reprocess import reprocess, state
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.routes.applied_tables import NotApplied
from lakehouse.steps.ingest.sealing.staged_audit import StagedRowsDiffer
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.ingest.in_process import InProcess, Record

A, B = "raw.a", "raw.b"
LARGE = 3_000_000_000
NARROW, WIDE = T.IntegerType(), T.LongType()


def tables(kind: T.DataType) -> list[Table]:
    """Both, with a number of this type."""
    columns = {"number": pandera.Column(kind, nullable=False), "text": pandera.Column(T.StringType(), nullable=True)}
    return [declare(columns, name=name).with_coordinates() for name in (A, B)]


def record(kind: str, number: Any) -> Record:
    return None, json.dumps({"kind": kind, "number": number, "text": f"{kind} {number}"}).encode()


@pytest.fixture
def stream(sql_lake: Lake) -> InProcess:
    """In partition 0: a, a too large, broken, b too large, b. In partition 1: a too large, a."""
    declared = Stream(name="things", topic="things", route=ByField("kind", {"a": A, "b": B}), max_quarantine_share=1.0)
    made = InProcess(open_catalog(sql_lake.settings), declared)
    made.declare(*tables(NARROW))
    made.ingest(
        {
            0: [record("a", 0), record("a", LARGE + 1), (b"key", b"broken"), record("b", LARGE + 3), record("b", 4)],
            1: [record("a", LARGE), record("a", 1)],
        }
    )
    assert made.quarantined() == [(0, 1), (0, 2), (0, 3), (1, 0)]
    return made


def widen(stream: InProcess) -> None:
    stream.declare(*tables(WIDE))


def newest_statement(stream: InProcess, name: str = A) -> KafkaStatement:
    sealed = last_seal(stream.load(name))
    assert sealed is not None
    statement = KafkaStatement.from_keys(sealed.seal.statement)
    assert statement is not None
    return statement


def test_what_has_left_the_quarantine_is_none_of_the_last_refused_any_more(sql_lake: Lake) -> None:
    """Or the next broken record would be taken for the twentieth, one after the other, and stop the stream."""
    declared = Stream(name="things", topic="things", route=ByField("kind", {"a": A, "b": B}), max_quarantine_share=1.0)
    made = InProcess(open_catalog(sql_lake.settings), declared)
    made.declare(*tables(NARROW))
    broken = (b"key", b"broken")
    made.ingest(
        {
            0: [record("a", 0), *(record("a", LARGE + n) for n in range(19))],
            1: [broken, record("a", LARGE), (b"key", None), broken, (b"key", None)],
            2: [record("a", LARGE), record("a", 0), broken],
        }
    )
    assert newest_statement(made).refused_last == {0: 19, 1: 3, 2: 1}
    widen(made)
    made.reprocess({2: [(0, 1)]})
    assert newest_statement(made).refused_last == {0: 19, 1: 3, 2: 1}, "it was not among the last ones"
    made.reprocess({0: [(0, 15)]})
    assert newest_statement(made).refused_last == {0: 5, 1: 3, 2: 1}
    made.reprocess()
    assert newest_statement(made).refused_last == {1: 1, 2: 1}
    made.ingest({0: [broken]})
    assert newest_statement(made).refused_last == {0: 1, 1: 1, 2: 1}
    made.holds()


def test_what_fits_by_now_lands_once_and_the_rest_stays(stream: InProcess) -> None:
    position = newest_statement(stream).end
    widen(stream)
    reprocessing, published = stream.reprocess(reason="numbers may be large")
    assert (reprocessing.count, dict(reprocessing.refused), reprocessing.left) == (3, {"not_json": 1}, 0)
    assert set(published.snapshots) == set(stream.tables)
    assert [row["number"] for row in stream.rows(A)] == [0, LARGE + 1, LARGE, 1]
    assert [row["number"] for row in stream.rows(B)] == [LARGE + 3, 4]
    assert stream.quarantined() == [(0, 2)]
    assert stream.rows(stream.stream.quarantine_table, "key", "value") == [{"key": b"key", "value": b"broken"}]
    for name in stream.tables:
        sealed = last_seal(stream.load(name))
        assert sealed is not None
        assert sealed.seal.kind == "reprocess"
        assert sealed.seal.statement["reprocess.reason"] == "numbers may be large"
        assert json.loads(sealed.seal.statement["reprocess.offsets"]) == {"0": [[1, 2], [3, 4]], "1": [[0, 1]]}
    now = newest_statement(stream)
    assert now.end == now.start == position
    assert now.tallies[stream.stream.quarantine_table] == {0: -(Tally(1, 1, 1) + Tally(1, 3, 9)), 1: Tally(-1, 0, 0)}
    assert (now.total_counts.read, now.total_counts.written, now.total_counts.quarantined) == (7, 6, 1)
    assert now.reprocessed_rows(A), now.reprocessed_rows(B) == (2, 1)
    assert stream.holds().read == 7


def test_never_twice(stream: InProcess) -> None:
    widen(stream)
    stream.reprocess()
    again = stream.find()
    assert (again.count, dict(again.refused)) == (0, {"not_json": 1})
    with pytest.raises(NothingToReprocess, match=r"quarantine\.things holds none"):
        stream.find({0: [(1, 2)]})
    stream.ingest({0: [record("a", 5)], 1: [(None, b"broken too")]})
    assert stream.holds().read == 9
    assert stream.quarantined() == [(0, 2), (1, 2)]


def test_only_what_is_asked_for(stream: InProcess) -> None:
    widen(stream)
    reprocessing, _ = stream.reprocess({0: [(0, 3)]})
    assert (reprocessing.count, dict(reprocessing.refused)) == (1, {"not_json": 1})
    assert stream.quarantined() == [(0, 2), (0, 3), (1, 0)]
    stream.holds()
    stream.reprocess({1: [(0, 100)]})
    assert stream.quarantined() == [(0, 2), (0, 3)]
    stream.holds()


def test_so_many_at_a_time(stream: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakehouse.steps.ingest.repair.acceptable_records.MOST_RECORDS", 3)
    widen(stream)
    reprocessing, _ = stream.reprocess()
    assert (reprocessing.count, reprocessing.left) == (2, 1)
    reprocessing, _ = stream.reprocess()
    assert (reprocessing.count, reprocessing.left, stream.quarantined()) == (1, 0, [(0, 2)])
    stream.holds()


def test_before_the_declaration_is_widened_nothing_is_taken_and_nothing_written(stream: InProcess) -> None:
    heads = {name: stream.load(name).metadata.current_snapshot_id for name in stream.tables}
    assert stream.find().count == 0
    stream.declarations.tables.update({table.name: table for table in tables(WIDE)})
    with pytest.raises(NotApplied, match="lakehouse apply"):
        stream.find()
    assert heads == {name: stream.load(name).metadata.current_snapshot_id for name in stream.tables}


def test_of_twins_one_wins(stream: InProcess) -> None:
    widen(stream)
    twin = stream.again()
    step, bases = twin.step("reprocess"), read_bases(twin.catalog, twin.tables)
    reprocessing = find_reprocess(step, bases)
    stream.reprocess()
    with pytest.raises(Superseded):
        reprocess(step, bases, reprocessing)
    assert stream.holds().read == 7
    assert [row["number"] for row in stream.rows(A)] == [0, LARGE + 1, LARGE, 1]


def test_an_ingest_that_came_first_wins(stream: InProcess) -> None:
    widen(stream)
    step, bases = stream.step("reprocess"), read_bases(stream.catalog, stream.tables)
    reprocessing = find_reprocess(step, bases)
    stream.ingest({0: [(None, b"broken too")]})
    with pytest.raises(Superseded):
        reprocess(step, bases, reprocessing)
    stream.reprocess()
    assert stream.holds().read == 8


def _lose_a_row(stream: InProcess) -> None:
    stream.load(A).delete("_kafka_partition = 0 and _kafka_offset = 1")


def _bring_one_back(stream: InProcess) -> None:
    table = stream.load(stream.stream.quarantine_table)
    (first,) = [s for s in table.metadata.snapshots if s.summary and s.summary["added-records"] == "4"]
    table.append(table.scan("_kafka_partition = 0 and _kafka_offset = 1", snapshot_id=first.snapshot_id).to_arrow())


@pytest.mark.parametrize(
    ("tamper", "table", "partition"), [(_lose_a_row, A, 0), (_bring_one_back, "quarantine.things", 0)]
)
def test_damage_is_still_named_afterwards(
    stream: InProcess, tamper: Callable[[InProcess], None], table: str, partition: int
) -> None:
    widen(stream)
    stream.reprocess()
    tamper(stream)
    findings = [f for f in stream.audit().findings if f.kind == "rows_differ"]
    assert [(f.table, f.partition) for f in findings] == [(table, partition)]


def test_a_table_that_was_set_back_alone_is_named_and_nothing_goes_on(stream: InProcess) -> None:
    before = stream.load(A).metadata.current_snapshot_id
    widen(stream)
    stream.reprocess()
    stream.load(A).manage_snapshots().set_current_snapshot(before).commit()
    assert ("rolled_back", A) in [(f.kind, f.table) for f in stream.audit().findings]
    with pytest.raises(
        PositionsDiffer, match=r"raw\.a at \{0: 5, 1: 2\} with 0 records reprocessed; raw\.b .* with 3 "
    ):
        stream.ingest({0: [record("a", 6)]})


@pytest.mark.parametrize(
    "point", ["stage.between", "reprocess.staged", "seal.after", "publish.before", "publish.after"]
)
def test_wherever_it_ends_a_record_is_in_one_place(
    stream: InProcess, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    widen(stream)
    monkeypatch.setenv("LAKEHOUSE_FAILPOINTS", f"{point}=fail")
    landed = point == "publish.after"
    with pytest.raises(InjectedFault):
        stream.reprocess()
    monkeypatch.delenv("LAKEHOUSE_FAILPOINTS")
    assert len(stream.quarantined()) == (1 if landed else 4)
    stream.holds()
    assert stream.find().count == (0 if landed else 3)
    if not landed:
        stream.reprocess()
    assert [row["number"] for row in stream.rows(A)] == [0, LARGE + 1, LARGE, 1]
    assert stream.holds().read == 7


def test_nothing_else_leaves_the_quarantine(stream: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    widen(stream)
    delete = Transaction.delete
    monkeypatch.setattr(Transaction, "delete", lambda self, _, **more: delete(self, AlwaysTrue(), **more))
    with pytest.raises(StagedRowsDiffer, match="other rows than the chosen ones"):
        stream.reprocess()
    assert len(stream.quarantined()) == 4
    stream.holds()


def test_a_seal_by_which_other_rows_came_than_left_is_found(stream: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    widen(stream)
    quarantine = stream.stream.quarantine_table

    def wrong(name: str, reprocessing: Reprocess, landed: WriteResult) -> KafkaStatement:
        statement = state(name, reprocessing, landed)
        return replace(
            statement, tallies={**statement.tallies, quarantine: {**statement.tallies[quarantine], 1: Tally(-1, 7, 49)}}
        )

    monkeypatch.setattr("lakehouse.steps.ingest.repair.reprocess.state", wrong)
    stream.reprocess()
    assert (quarantine, 1) in [(f.table, f.partition) for f in stream.audit().findings if f.kind == "balance"]


@pytest.mark.parametrize("kind", ["ingest", "loss"])
def test_rows_leave_by_no_other_step(stream: InProcess, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    widen(stream)
    monkeypatch.setattr("lakehouse.steps.ingest.repair.reprocess.KIND_REPROCESS", kind)
    stream.reprocess()
    messages = [f.message for f in stream.audit().findings if f.kind == "balance"]
    assert any(f"({kind}), rows left quarantine.things." in message for message in messages)
