"""What a range holds, before anything is folded."""

import pytest
from pyspark.sql import SparkSession

from lakehouse.steps.cdc.fold.survey import RangeSurvey, survey
from lakehouse_tests.steps.cdc.folding import changelog_rows, frame
from lakehouse_tests.steps.cdc.test_semantics import HARD, Both, NewBoth, at

pytestmark = pytest.mark.spark


@pytest.fixture
def both(quick: SparkSession) -> NewBoth:
    return lambda tables=HARD: Both(quick, tables)


def test_a_survey_tells_what_a_range_holds_in_any_order(both: NewBoth, quick: SparkSession) -> None:
    it = both()
    changes = [
        it.change("insert", 1, 10, a="x", time=100),
        it.change("update", 1, 30, partition=1, time=50, unavailable=["b"]),
        it.change("truncate", (), 20, time=70),
        it.change("tombstone", 2, None, partition=1),
        it.change("control", (), None, partition=2, time=1),
    ]
    found = [
        survey(frame(quick, HARD.changelog.table, changelog_rows(HARD, told)), HARD.changelog)
        for told in (changes, changes[::-1], changes[:-1])
    ]
    digest = found[0].digest
    assert (
        found[0]
        == found[1]
        == RangeSurvey(
            rows=5,
            operations={"insert": 1, "update": 1, "truncate": 1, "tombstone": 1, "control": 1},
            digest=digest,
            position=at(30),
            source_time_us=100,
            oldest_us=50,
            progress={0: 100, 1: 50, 2: 1},
            truncated=at(20),
            lone_tombstones=1,
            unavailable=frozenset({"b"}),
            oldest=at(10),
            kafka_end={0: 4, 1: 5, 2: 6},
        )
    )
    assert found[2].digest != digest
    assert int(digest)
    nothing = survey(frame(quick, HARD.changelog.table, []), HARD.changelog)
    assert nothing == RangeSurvey()
