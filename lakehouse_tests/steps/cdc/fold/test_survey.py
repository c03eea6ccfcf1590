"""What a range holds, before anything is folded."""

import pytest
from pyspark.sql import SparkSession

from lakehouse.steps.cdc.fold.survey import RangeSurvey, survey
from lakehouse_tests.steps.cdc.folding import changelog_rows, frame
from lakehouse_tests.steps.cdc.test_semantics import HARD, Both, NewBoth, position_of

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
    surveys = [
        survey(frame(quick, HARD.changelog.table, changelog_rows(HARD, ordering)), HARD.changelog)
        for ordering in (changes, changes[::-1], changes[:-1])
    ]
    digest = surveys[0].digest
    assert (
        surveys[0]
        == surveys[1]
        == RangeSurvey(
            rows=5,
            operations={"insert": 1, "update": 1, "truncate": 1, "tombstone": 1, "control": 1},
            digest=digest,
            position=position_of(30),
            source_time_us=100,
            oldest_us=50,
            progress={0: 100, 1: 50, 2: 1},
            truncated=position_of(20),
            lone_tombstones=1,
            unavailable=frozenset({"b"}),
            oldest=position_of(10),
            kafka_end={0: 4, 1: 5, 2: 6},
        )
    )
    assert surveys[2].digest != digest
    assert int(digest)
    nothing = survey(frame(quick, HARD.changelog.table, []), HARD.changelog)
    assert nothing == RangeSurvey()
