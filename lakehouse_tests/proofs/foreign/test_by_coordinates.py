"""Coordinates prove, disprove, or leave open; and each reason is said with its offsets."""

from collections.abc import Sequence

import numpy as np
import pytest

from lakehouse.proofs.foreign.by_coordinates import Expectations, Judgement, judge_coordinates
from lakehouse.proofs.foreign.offset_runs import Runs
from lakehouse.proofs.foreign.record_log import RecordLog
from lakehouse_tests.proofs.foreign.topic import topic_with


def judge(rows: dict[int, Sequence[int]], log: RecordLog, **expected: bool) -> Judgement:
    runs = {partition: Runs.of(np.array(offsets, np.int64), 0) for partition, offsets in rows.items()}
    return judge_coordinates(runs, log, Expectations(**expected), lambda files: f"files {sorted(files)}")


def test_every_record_once_is_proven() -> None:
    judgement = judge({0: range(5), 1: range(3)}, topic_with({0: range(5), 1: range(3)}))
    assert not judgement.findings
    assert not judgement.undecided
    assert [(r.partition, r.first, r.end, r.rows, r.ahead) for r in judgement.ranges] == [
        (0, 0, 5, 5, 0),
        (1, 0, 3, 3, 0),
    ]


def test_a_record_with_two_rows_is_named() -> None:
    (finding,) = judge({0: [0, 1, 2, 2, 3, 3, 3, 4]}, topic_with({0: range(5)})).findings
    assert (finding.kind, finding.partition, finding.offsets) == ("repeated", 0, "2, 3")
    assert "2 records have more than one row, 3 too many: 2, 3; brought by files [0]" in finding.message


def test_a_record_without_a_row_is_named_unless_the_writer_filters() -> None:
    log = topic_with({0: range(9)})
    (finding,) = judge({0: [0, 1, 4, 5, 7, 8]}, log).findings
    assert (finding.kind, finding.offsets) == ("missing", "[2, 4), 6")
    filtered = judge({0: [0, 1, 4, 5, 7, 8]}, log, filters=True)
    assert not filtered.findings
    assert "the writer leaves some out on purpose" in filtered.undecided[0]


def test_tombstones_and_markers_of_transactions_make_no_row() -> None:
    judgement = judge({0: [0, 1, 5]}, topic_with({0: [0, 1, 5]}, tombstones={0: [3]}))
    assert not judgement.findings
    assert not judgement.undecided
    assert (judgement.ranges[0].without_value, judgement.ranges[0].without_record) == (1, 2)


def test_of_a_compacted_topic_nobody_knows_what_offsets_held() -> None:
    (reason,) = judge({0: [0, 1, 5]}, topic_with({0: [0, 1, 5]}, compacted=True)).undecided
    assert "3 offsets without a row have no record now; the topic is compacted" in reason


def test_what_kafka_has_let_go_cannot_be_asked_about() -> None:
    log = topic_with({0: range(6, 9)}, earliest=6)
    assert not judge({0: [4, 5, 6, 7, 8]}, log).undecided, "what the table has needs no asking"
    (reason,) = judge({0: [2, 5, 6, 7, 8]}, log).undecided
    assert "no row has the offsets [3, 5), and Kafka has let them go" in reason


def test_records_before_the_first_row_are_lost_or_the_writer_began_later() -> None:
    log = topic_with({0: range(9)})
    (reason,) = judge({0: range(4, 9)}, log).undecided
    assert "4 records before the first row have none ([0, 4))" in reason
    assert not judge({0: range(4, 9)}, log, started_late=True).undecided


def test_records_behind_the_last_row_are_not_there_yet_unless_the_group_has_passed_them() -> None:
    records = {0: range(9)}
    lagging = judge({0: range(5)}, topic_with(records))
    assert not lagging.findings
    assert not lagging.undecided
    assert lagging.ranges[0].ahead == 4
    (finding,) = judge({0: range(5)}, topic_with(records, positions={0: 7})).findings
    assert (finding.kind, finding.offsets) == ("missing", "[5, 7)")
    assert not judge({0: range(5)}, topic_with(records, positions={0: 5})).findings


def test_a_partition_without_any_row_is_open_unless_the_group_tells() -> None:
    records = {0: range(3), 1: range(2)}
    (reason,) = judge({0: range(3)}, topic_with(records)).undecided
    assert "partition 1: none of its 2 records has a row" in reason
    (finding,) = judge({0: range(3)}, topic_with(records, positions={0: 3, 1: 2})).findings
    assert (finding.kind, finding.partition, finding.offsets) == ("missing", 1, "[0, 2)")
    not_begun = judge({0: range(3)}, topic_with(records, positions={0: 3}))
    assert not not_begun.findings
    assert not not_begun.undecided
    empty = judge({0: range(3)}, topic_with({0: range(3), 1: []}))
    assert not empty.undecided


@pytest.mark.parametrize("rows", [{0: range(9)}, {0: range(5), 7: [0]}], ids=["beyond the end", "no such partition"])
def test_offsets_that_the_topic_does_not_have_are_of_another(rows: dict[int, Sequence[int]]) -> None:
    (reason,) = judge(rows, topic_with({0: range(5)})).undecided
    assert "of another topic" in reason
