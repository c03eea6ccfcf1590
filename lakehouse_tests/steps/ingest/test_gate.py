"""When a batch is refused for its quarantine: above a share and a number, or at the end of a partition across runs."""

from dataclasses import replace

import pytest

from lakehouse.declarations import Stream, ToTable
from lakehouse.engines.kafka.statement import Counts, KafkaStatement
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.steps.ingest.gate import LAST_RECORDS, TooMuchQuarantined, refused_ends, require_acceptable
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.received import TOMBSTONE, Stretch
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.step import state

STREAM = Stream(name="things", topic="things", route=ToTable("raw.things"))


def landed(read: int, broken: int, *stretches: Stretch, tombstones: int = 0) -> WriteResult:
    counts = Counts(read=read, quarantined=broken + tombstones, tombstones=tombstones)
    return WriteResult(
        {}, {}, counts, errors={"not_json": broken, TOMBSTONE: tombstones}, received={0: list(stretches)}
    )


def judge(stream: Stream, batch: WriteResult, plan: IngestPlan | None = None) -> KafkaStatement | None:
    """The statement of a batch that goes on."""
    made = state(plan, batch) if plan else None
    require_acceptable(stream, batch, "branch", refused_ends(plan, made) if plan and made else {})
    return made


def refused(stream: Stream, batch: WriteResult, plan: IngestPlan | None = None) -> str:
    with pytest.raises(TooMuchQuarantined) as refusal:
        judge(stream, batch, plan)
    return str(refusal.value)


@pytest.mark.parametrize(("read", "broken"), [(1, 1), (99, 1), (20, 20), (2001, 20), (10_000, 100)])
def test_a_few_broken_records_or_a_small_share_stop_nothing(read: int, broken: int) -> None:
    judge(STREAM, landed(read, broken))


@pytest.mark.parametrize(("read", "broken"), [(21, 21), (2000, 21), (10_000, 101)])
def test_more_than_the_number_and_the_share_are_refused(read: int, broken: int) -> None:
    assert f"{broken} of {read} records" in refused(STREAM, landed(read, broken))


def test_the_number_is_the_streams_to_say() -> None:
    assert "1 of 99" in refused(replace(STREAM, max_quarantine_records=0), landed(99, 1))
    judge(replace(STREAM, max_quarantine_records=50), landed(99, 50))


def test_who_allows_none_means_none() -> None:
    assert "1 of 1000" in refused(replace(STREAM, max_quarantine_share=0), landed(1000, 1))
    judge(replace(STREAM, max_quarantine_share=0), landed(3, 0, tombstones=2))


def planned(start: int, end: int, previous: KafkaStatement | None, *, more: int = 0) -> IngestPlan:
    topic = TopicState("things", "c", "t", {0: PartitionRange(0, end + more)})
    return IngestPlan(topic, {0: start}, {0: end}, previous)


def broken_run(offset: int, previous: KafkaStatement | None) -> tuple[WriteResult, IngestPlan]:
    """One record, refused."""
    batch = landed(1, 1, Stretch(offset, offset, 1, judged=1, refused=1))
    return batch, planned(offset, offset + 1, previous)


def through_a_seal(statement: KafkaStatement | None) -> KafkaStatement | None:
    assert statement is not None
    return KafkaStatement.from_keys(statement.to_keys())


def test_a_quiet_topic_whose_last_records_were_all_refused_stops_in_the_twentieth_run() -> None:
    previous = None
    for offset in range(LAST_RECORDS - 1):
        previous = through_a_seal(judge(STREAM, *broken_run(offset, previous)))
    assert previous is not None
    assert previous.refused_last == {0: LAST_RECORDS - 1}
    message = refused(STREAM, *broken_run(LAST_RECORDS - 1, previous))
    assert "the last 20 of partition 0 are not acceptable" in message
    again = landed(3, 2, Stretch(LAST_RECORDS - 1, LAST_RECORDS + 1, 3, judged=3, refused=1))
    healed = judge(STREAM, again, planned(LAST_RECORDS - 1, LAST_RECORDS + 2, previous))
    assert healed is not None
    assert healed.refused_last == {0: 1}, "a good record came, so the producer works"


def test_a_seal_of_an_older_version_says_nothing_of_it() -> None:
    keys = KafkaStatement("c", "things", "t", {0: 0}, {0: 7}).to_keys()
    assert "kafka.refused_last" not in keys
    previous = KafkaStatement.from_keys(keys)
    assert previous is not None
    assert previous.refused_last is None
    made = judge(STREAM, *broken_run(7, previous))
    assert made is not None
    assert made.refused_last == {0: 1}


def test_what_reads_nothing_keeps_what_was_counted() -> None:
    _, plan = broken_run(0, None)
    previous = state(plan, landed(1, 1, Stretch(0, 0, 1, judged=1, refused=1)))
    assert state(planned(1, 1, previous), WriteResult.nothing()).refused_last == {0: 1}
    assert KafkaStatement("c", "things", "t", {0: 1}, {0: 9}).after(previous).refused_last == {0: 1}


def test_at_a_cap_there_are_newer_records_to_see() -> None:
    batch = landed(5000, 20, Stretch(0, 4999, 5000, judged=5000, refused=20))
    judge(STREAM, batch, planned(0, 5000, None, more=1))
    refused(STREAM, batch, planned(0, 5000, None))


def test_other_partitions_go_on_after_a_person_let_the_refused_ones_in() -> None:
    batch = landed(25, 25, Stretch(0, 24, 25, judged=25, refused=25))
    refused(replace(STREAM, max_quarantine_records=100), batch, planned(0, 25, None))
    previous = through_a_seal(judge(replace(STREAM, max_quarantine_share=1), batch, planned(0, 25, None)))
    topic = TopicState("things", "c", "t", {0: PartitionRange(0, 25), 1: PartitionRange(0, 1)})
    other = WriteResult({}, {}, Counts(read=1, written=1), received={1: [Stretch(0, 0, 1, judged=1)]})
    judge(STREAM, other, IngestPlan(topic, {0: 25, 1: 0}, {0: 25, 1: 1}, previous))
