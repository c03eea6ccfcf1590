"""Offsets that are named and given up: what may be named, what it does, and that every proof covers it."""

import re

import pytest

from lakehouse.engines.kafka.statement import LOST
from lakehouse.engines.kafka.tally import Tally
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.refusals import RetentionOvertook, TopicRecreated
from lakehouse.steps.ingest.repair.accept_offsets import (
    LONGEST_REASON,
    OffsetsInvalid,
    ReasonInvalid,
    parse_offsets,
    plan_offsets_loss,
    require_reason,
)
from lakehouse.steps.ingest.repair.loss import Loss, accept_loss, plan_loss
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream


@pytest.fixture
def events(sql_lake: Lake) -> SimulatedStream:
    """Ten records in each of two partitions, read."""
    stream = SimulatedStream(open_catalog(sql_lake.settings))
    stream.ingest({0: 10, 1: 10})
    return stream


def plan(events: SimulatedStream, *texts: str, reason: str = "its timestamp") -> Loss:
    previous = stored_position("events", read_bases(events.catalog, events.tables))
    return plan_offsets_loss("events", previous, events.topic(), parse_offsets(texts), reason, first={0: 0, 1: 3})


def accept(events: SimulatedStream, loss: Loss) -> None:
    accept_loss(events.step("accepting"), read_bases(events.catalog, events.tables), loss)


def test_both_ends_are_included_and_neighbours_are_one_range() -> None:
    assert parse_offsets(["0:123-124", "3:7", "0:125", "0:200-299"]) == {0: [(123, 126), (200, 300)], 3: [(7, 8)]}


@pytest.mark.parametrize("text", ["", "123", "0:", "0:5-3", "0:-5", "0:1-", "0:1:2", "a:1", "0:1.5", "0: 1", "-1:5"])
def test_what_is_no_range_is_refused_by_name(text: str) -> None:
    with pytest.raises(OffsetsInvalid, match=re.escape(repr(text))):
        parse_offsets([text])


def test_a_reason_is_a_line() -> None:
    assert require_reason("  ticket 7 ") == "ticket 7"
    for reason in ("", "  ", "two\nlines", "bell\a", "x" * (LONGEST_REASON + 1)):
        with pytest.raises(ReasonInvalid, match="--reason"):
            require_reason(reason)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["0:4-11"], r"partition 0 offsets 4-11 of topic events begins before offset 10"),
        (["0:29-30"], r"partition 0 offsets 29-30 ends beyond topic events, .* before offset 30"),
        (["2:0"], r"topic events has no partition 2"),
        (["0:12-14", "0:14"], r"partition 0 offsets 12-14 and partition 0 offset 14 overlap"),
    ],
)
def test_what_was_read_or_is_not_in_the_log_cannot_be_given_up(
    events: SimulatedStream, texts: list[str], message: str
) -> None:
    events.ends = {0: 30, 1: 10}
    with pytest.raises(OffsetsInvalid, match=message):
        plan(events, *texts)


def test_nothing_is_given_up_twice(events: SimulatedStream) -> None:
    events.ends = {0: 30, 1: 10}
    accept(events, plan(events, "0:20-24"))
    with pytest.raises(OffsetsInvalid, match=r"partition 0 offsets 20-24 was given up before"):
        plan(events, "0:24-26")
    accept(events, plan(events, "0:25-26"))
    events.ingest({})
    assert (events.audit().lost, events.audit().position) == (7, {0: 27, 1: 10})


def test_offsets_are_no_answer_to_another_topic_or_to_retention(events: SimulatedStream) -> None:
    events.ends, events.earliest = {0: 30, 1: 10}, {0: 12}
    with pytest.raises(RetentionOvertook):
        plan(events, "0:15")
    events.topic_id = "another"
    with pytest.raises(TopicRecreated):
        plan(events, "0:15")


def test_at_the_position_it_is_lost_at_once(events: SimulatedStream) -> None:
    events.ends = {0: 30, 1: 12}
    loss = plan(events, "0:10-14")
    assert (loss.offsets, loss.lost, loss.ahead) == (5, {0: (10, 15)}, {})
    accept(events, loss)
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.lost, proof.position) == (5, {0: 15, 1: 10})
    events.ingest({})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.lost, proof.read, proof.invisible) == (5, 20 + 15 + 2, 0)


def test_ahead_of_the_position_the_run_that_gets_there_steps_over_it_and_the_proof_covers_it(
    events: SimulatedStream,
) -> None:
    events.ends = {0: 40, 1: 12}
    loss = plan(events, "0:23-24", "0:30")
    assert (loss.offsets, loss.lost, loss.ahead) == (3, {}, {0: [(23, 25), (30, 31)]})
    accept(events, loss)
    proof = events.audit()
    assert (proof.holds, proof.lost, proof.position) == (True, 0, {0: 10, 1: 10})
    (accepted,) = proof.losses
    assert (accepted.ranges, accepted.reason, accepted.run_id) == (loss.accepted, "its timestamp", "accepting")
    events.ingest({})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.lost, proof.position) == (2, {0: 25, 1: 12})
    events.ingest({})
    events.ingest({})
    for scan in (False, True):
        proof = events.audit(scan=scan)
        assert proof.holds, proof.findings
        assert (proof.lost, proof.position, proof.invisible) == (3, {0: 40, 1: 12}, 0)
        assert proof.read == 20 + 30 + 2 - 3
    previous = stored_position("events", read_bases(events.catalog, events.tables))
    assert previous is not None
    assert previous.totals[LOST] == {0: Tally.of_range(23, 25) + Tally.of_range(30, 31)}
    # A row that is missing beside what was given up is still named, and what was given up is not.
    events.load(A).delete("_kafka_partition = 0 and _kafka_offset = 22")
    (finding,) = [f for f in events.audit().findings if f.kind == "rows_differ"]
    assert (finding.table, finding.offsets, "Missing: 22." in finding.message) == (A, "[10, 25)", True)


def test_retention_may_take_what_was_given_up(events: SimulatedStream) -> None:
    events.ends = {0: 40, 1: 10}
    accept(events, plan(events, "0:23-26"))
    events.earliest = {0: 25}
    previous = stored_position("events", read_bases(events.catalog, events.tables))
    accept(events, plan_loss("events", previous, events.topic(), new_epoch=False))
    events.ingest({})
    events.ingest({})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.lost, proof.read, proof.position) == (17, 20 + 13, {0: 40, 1: 10})
    assert [loss.reason for loss in proof.losses] == ["its timestamp", "RetentionOvertook"]


def test_what_was_given_up_in_a_log_that_is_no_more_is_not_stepped_over_in_the_next(events: SimulatedStream) -> None:
    events.ends = {0: 40, 1: 10}
    accept(events, plan(events, "0:23-26"))
    events.ends = {0: 8, 1: 10}
    previous = stored_position("events", read_bases(events.catalog, events.tables))
    accept(events, plan_loss("events", previous, events.topic(), new_epoch=True))
    events.ingest({0: 32})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.lost, proof.position, proof.losses) == (0, {0: 40, 1: 10}, ())


def test_a_stream_that_has_not_begun_begins_with_it_at_its_declared_start(sql_lake: Lake) -> None:
    events = SimulatedStream(open_catalog(sql_lake.settings))
    events.ends = {0: 5, 1: 9}
    with pytest.raises(OffsetsInvalid, match="before offset 3"):
        plan(events, "1:2")
    accept(events, plan(events, "0:0", "1:4"))
    events.ingest({})
    events.ingest({})
    proof = events.audit()
    assert proof.holds, proof.findings
    assert (proof.lost, proof.read, proof.position) == (2, 4 + 5, {0: 5, 1: 9})
