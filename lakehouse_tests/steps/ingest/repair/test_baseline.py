"""What a baseline says: the rows that are there, those that were retired, and what earlier seals lost."""

import numpy as np

from lakehouse.engines.kafka.statement import LOST, Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.steps.ingest.repair.baseline import baseline, retired_sums
from lakehouse_tests.steps.ingest.workers.tasks import QUARANTINE, TABLE, TOPIC

ROWS = {TABLE: {0: np.array([0, 1, 4], np.int64)}, QUARANTINE: {0: np.array([2], np.int64)}}


def test_without_a_seal_it_counts_the_rows() -> None:
    statement = baseline(ROWS, None, {}, TOPIC, {0: 5}, QUARANTINE)
    assert (statement.start, statement.end) == ({0: 5}, {0: 5})
    assert statement.totals[TABLE] == {0: Tally.of(ROWS[TABLE][0])}
    assert statement.total_counts == Counts(read=4, written=3, quarantined=1)


def test_what_was_retired_or_lost_before_stays_so() -> None:
    lost, retired = {0: Tally.of_range(5, 7)}, {TABLE: {0: Tally.of_range(7, 9)}}
    totals = {TABLE: {0: Tally.of_range(0, 5)}, LOST: lost}
    previous = KafkaStatement(
        *("cluster", "things", "topic-id", {0: 0}, {0: 9}),
        totals=totals,
        total_counts=Counts(read=7, written=7, lost=2),
        retired=retired,
    )
    statement = baseline(ROWS, previous, retired_sums({}, previous), TOPIC, {0: 9}, QUARANTINE)
    assert statement.totals[LOST] == lost
    assert statement.totals[TABLE] == {0: Tally.of(ROWS[TABLE][0]) + retired[TABLE][0]}
    assert (statement.total_counts.written, statement.total_counts.lost, statement.retired) == (5, 2, retired)
