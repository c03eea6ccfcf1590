"""A loss that a person accepts is on record in every table, counted, and the audit goes on proving what there is."""

from dataclasses import replace

import pytest

from lakehouse.engines.kafka.statement import LOST, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.errors import Superseded
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import last_seal
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.refusals import TopicRecreated
from lakehouse.steps.ingest.repair.loss import Loss, NothingToAccept, accept_loss, find_loss, plan_loss
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream

pytestmark = pytest.mark.slow


@pytest.fixture
def events(sql_lake: Lake) -> SimulatedStream:
    """Ten records in each of two partitions, read."""
    stream = SimulatedStream(open_catalog(sql_lake.settings))
    stream.ingest({0: 10, 1: 10})
    return stream


def planned_loss(events: SimulatedStream, *, new_epoch: bool = False, begin: dict[int, int] | None = None) -> Loss:
    previous = stored_position("events", read_bases(events.catalog, events.tables))
    return plan_loss("events", previous, events.topic(), new_epoch=new_epoch, begin=begin)


def accept(events: SimulatedStream, loss: Loss) -> None:
    accept_loss(events.step(), read_bases(events.catalog, events.tables), loss)


def test_what_retention_deleted_is_sealed_in_every_table_and_the_audit_tells_its_number(
    events: SimulatedStream,
) -> None:
    events.ends = {0: 30, 1: 12}
    events.earliest = {0: 25, 1: 3}
    loss = planned_loss(events)
    assert (loss.kind, loss.lost, loss.offsets) == ("loss", {0: (10, 25)}, 15)
    accept(events, loss)
    for name in events.tables:
        sealed = last_seal(events.load(name))
        assert sealed is not None
        statement = KafkaStatement.from_keys(sealed.seal.statement)
        assert statement is not None
        assert (sealed.seal.kind, statement.end, statement.lost) == ("loss", {0: 25, 1: 10}, {0: [(10, 25)]})
        assert statement.totals[LOST] == {0: Tally.of_range(10, 25)}
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.lost, proof.read, proof.invisible) == (15, 20, 0)
    events.ingest({})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.lost, proof.read, proof.position, proof.invisible) == (15, 27, {0: 30, 1: 12}, 0)


def test_a_new_partition_that_lost_records_before_it_was_first_read(events: SimulatedStream) -> None:
    events.ends, events.earliest = {0: 10, 1: 10, 2: 30}, {2: 20}
    loss = planned_loss(events)
    assert (loss.kind, loss.lost) == ("loss", {2: (0, 20)})
    accept(events, loss)
    events.ingest({})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.lost, proof.read, proof.invisible) == (20, 30, 0)


def test_damage_is_still_named_after_a_loss(events: SimulatedStream) -> None:
    events.ends, events.earliest = {0: 30, 1: 12}, {0: 25}
    accept(events, planned_loss(events))
    events.ingest({})
    events.load(A).delete("_kafka_partition = 0 and _kafka_offset = 26")
    assert any((f.table, f.partition, f.offsets) == (A, 0, "[25, 30)") for f in events.audit().findings)


def test_nothing_lost_is_nothing_to_accept(events: SimulatedStream) -> None:
    for new_epoch in (False, True):
        with pytest.raises(NothingToAccept):
            planned_loss(events, new_epoch=new_epoch)
    with pytest.raises(NothingToAccept, match="has not begun"):
        plan_loss("events", None, events.topic(), new_epoch=False)


def test_a_mere_loss_is_no_answer_to_another_topic(events: SimulatedStream) -> None:
    events.topic_id = "another"
    with pytest.raises(TopicRecreated, match="--new-epoch"):
        planned_loss(events)


def test_a_topic_made_anew_is_a_new_epoch_from_its_earliest_offset(events: SimulatedStream) -> None:
    events.topic_id, events.ends, events.earliest = "another", {0: 7, 1: 4, 2: 6}, {0: 2}
    loss = planned_loss(events, new_epoch=True)
    assert (loss.kind, loss.lost, loss.reason) == ("new_epoch", {}, "TopicRecreated")
    assert loss.doubtful == {0: (0, 10), 1: (0, 10)}
    assert loss.statement.end == {0: 2, 1: 0, 2: 0}
    accept(events, loss)
    assert events.audit().holds
    events.ingest({})
    events.ingest({0: 20})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.read, proof.position, proof.invisible) == (20 + 5 + 4 + 6 + 20, {0: 27, 1: 4, 2: 6}, 0)
    # Offsets of both topics are in the table now; a lost row is still found.
    events.load(A).delete("_kafka_partition = 1 and _kafka_offset = 2")
    (finding,) = [f for f in events.audit().findings if f.kind == "rows_differ"]
    assert (finding.table, finding.partition, finding.offsets) == (A, 1, "[1, 10)")


def test_a_copied_topic_is_read_from_where_a_moment_lies_in_it(events: SimulatedStream) -> None:
    events.topic_id, events.ends, events.earliest = "another", {0: 107, 1: 204, 2: 6}, {0: 2, 2: 3}
    loss = planned_loss(events, new_epoch=True, begin={0: 105, 1: 204, 2: 1})
    assert (loss.lost, loss.statement.end) == ({}, {0: 105, 1: 204, 2: 3}), "never before what the log still has"
    accept(events, loss)
    events.ingest({1: 4})
    proof = events.audit(scan=True)
    assert proof.holds, proof.findings
    assert (proof.read, proof.position) == (20 + 2 + 4 + 3, {0: 107, 1: 208, 2: 6})


def test_in_a_log_that_was_cut_a_moment_is_no_reason_to_read_twice(events: SimulatedStream) -> None:
    events.ends = {0: 6, 1: 15}
    assert planned_loss(events, new_epoch=True, begin={0: 2, 1: 3}).statement.end == {0: 6, 1: 10}


def test_in_a_log_that_was_cut_nothing_is_read_twice(events: SimulatedStream) -> None:
    events.ends = {0: 6, 1: 15}
    loss = planned_loss(events, new_epoch=True)
    assert (loss.reason, loss.doubtful) == ("PositionBeyondEnd", {0: (6, 10)})
    assert loss.statement.end == {0: 6, 1: 10}
    accept(events, loss)
    events.ingest({0: 10})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert proof.position == {0: 16, 1: 15}


def test_what_was_given_up_in_a_log_before_it_was_cut_is_read_where_new_records_took_its_place(
    events: SimulatedStream,
) -> None:
    events.ends, events.earliest = {0: 30, 1: 10}, {0: 25}
    accept(events, planned_loss(events))
    events.ingest({})
    events.ends, events.earliest = {0: 12, 1: 10}, {}
    accept(events, planned_loss(events, new_epoch=True))
    events.ingest({0: 28})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.position, proof.lost, proof.read) == ({0: 40, 1: 10}, 15, 20 + 5 + 28)
    assert [(loss.ranges, loss.past) for loss in proof.losses] == [({0: [(10, 25)]}, True)]
    events.earliest = {0: 45}
    events.ends = {0: 50, 1: 10}
    accept(events, planned_loss(events))
    events.ingest({})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.lost, [loss.past for loss in proof.losses]) == (20, [True, False])


def test_retention_and_a_cut_at_once(events: SimulatedStream) -> None:
    events.ends, events.earliest = {0: 6, 1: 15}, {1: 12}
    loss = planned_loss(events, new_epoch=True)
    assert loss.lost == {1: (10, 12)}
    accept(events, loss)
    proof = events.audit()
    assert proof.holds, proof.findings
    assert proof.lost == 2


def test_another_cluster_and_vanished_partitions(events: SimulatedStream) -> None:
    previous = stored_position("events", read_bases(events.catalog, events.tables))
    other = replace(events.topic(), cluster_id="another")
    assert plan_loss("events", previous, other, new_epoch=True).reason == "ClusterChanged"
    del events.ends[1]
    loss = planned_loss(events, new_epoch=True)
    assert (loss.reason, loss.statement.end) == ("PartitionsVanished", {0: 10})
    accept(events, loss)
    assert events.audit().holds


def test_a_run_that_came_in_between_is_not_overwritten(
    events: SimulatedStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    events.ends, events.earliest = {0: 30, 1: 10}, {0: 25}
    monkeypatch.setattr(
        "lakehouse.steps.ingest.repair.loss.read_stream_topics", lambda kafka, declared, previous: events.topic()
    )
    step = events.step()
    bases = read_bases(events.catalog, events.tables)
    loss = find_loss(step, bases, new_epoch=False)
    events.earliest = {}
    events.ingest({})
    with pytest.raises(Superseded):
        accept_loss(step, bases, loss)
    proof = events.audit()
    assert (proof.holds, proof.lost) == (True, 0)
