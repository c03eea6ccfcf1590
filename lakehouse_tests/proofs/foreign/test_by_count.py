"""Without coordinates, numbers decide what they can, and say what would let the rest be decided."""

import pytest

from lakehouse.proofs.foreign.by_coordinates import Expectations, Judgement
from lakehouse.proofs.foreign.by_count import KeyCounts, judge_counts
from lakehouse.proofs.foreign.record_log import RecordLog
from lakehouse_tests.proofs.foreign.topic import topic_with

TEN = topic_with({0: range(6), 1: range(4)})


def judge(log: RecordLog, rows: int, repeated: int | None = None, **expected: bool) -> Judgement:
    counts = KeyCounts(rows) if repeated is None else KeyCounts(rows, ("name",), repeated)
    return judge_counts(counts, log, Expectations(**expected), "some transform")


def test_as_many_rows_as_records_and_no_key_twice_is_a_proof() -> None:
    judgement = judge(TEN, 10, 0)
    assert not judgement.findings
    assert not judgement.undecided
    assert judge(topic_with({0: []}), 0) == Judgement()


@pytest.mark.parametrize(
    ("rows", "repeated", "reason"),
    [
        (10, None, "no key: one that is there twice may stand for one that is lost"),
        (10, 1, "1 key (name) with more than one row"),
        (9, 0, "9 rows of 10 records: the others are lost, left out, or not written yet"),
    ],
)
def test_what_numbers_leave_open_names_the_transform(rows: int, repeated: int | None, reason: str) -> None:
    judgement = judge(TEN, rows, repeated)
    assert not judgement.findings
    (text,) = judgement.undecided
    assert reason in text
    assert "let the writer add coordinates: some transform" in text


def test_more_rows_than_records_disproves() -> None:
    (finding,) = judge(topic_with({0: range(6)}, tombstones={0: [6]}), 7).findings
    assert finding.kind == "too_many_rows"
    assert "7 rows, and 6 records of birds: at least 1 are there twice" in finding.message


def test_more_rows_than_offsets_disproves_whatever_kafka_has_let_go() -> None:
    shortened = topic_with({0: range(4, 6)}, earliest=4)
    (finding,) = judge(shortened, 7).findings
    assert "7 rows, and 6 offsets that birds ever gave out" in finding.message
    assert "Kafka has let the first records of partition 0 go" in judge(shortened, 6, 0).undecided[0]


def test_fewer_rows_than_the_group_has_passed_disproves() -> None:
    passed = topic_with({0: range(6), 1: range(4)}, positions={0: 6, 1: 2})
    (finding,) = judge(passed, 7).findings
    assert finding.kind == "too_few_rows"
    assert "at least 1 are lost" in finding.message
    assert not judge(passed, 8).findings
    assert not judge(passed, 7, filters=True).findings


def test_a_compacted_topic_cannot_be_counted() -> None:
    assert "is compacted" in judge(topic_with({0: range(3)}, compacted=True), 3, 0).undecided[0]
