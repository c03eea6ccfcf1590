"""What a mirror's seal says after a range adds up with what it said before.

Guarded mechanism: the low watermark never goes back.
"""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

from pyiceberg.table import Table

from lakehouse.declarations import Mirror, MirrorTables
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc.fold.survey import RangeSurvey
from lakehouse.steps.cdc.plan.range import Range
from lakehouse.steps.cdc.range_statement import statement_after
from lakehouse.steps.cdc.statement import Applied, MirrorStatement
from lakehouse.steps.cdc.work import MirrorWork
from lakehouse_tests.steps.cdc.conftest import changelog_of

SECOND = 1_000_000
LOG = cast("Table", SimpleNamespace(name=lambda: ("changelog", "things"), metadata=SimpleNamespace(table_uuid="uuid")))
RANGE = Range(LOG, 3, 4, 0, 0, (), KafkaStatement("c", "things", "t", {0: 7}, {0: 9}))
KNOWN = MirrorStatement(
    changelog="changelog.things",
    changelog_uuid="uuid",
    build="first",
    start=2,
    end=3,
    rows=10,
    progress={0: 100 * SECOND, 1: 60 * SECOND},
    low_watermark_us=50 * SECOND,
)


def work(known: MirrorStatement | None = KNOWN, lateness: int = 10, **declared: Any) -> MirrorWork:
    mirror = Mirror(name="mirror.things", changelog=changelog_of(), lateness=timedelta(seconds=lateness), **declared)
    return MirrorWork(MirrorTables(mirror, changelog_of()), cast("Any", None), Attempt("run", "mirror"), {}, known)


def after(planned: MirrorWork, *, applied: Applied | None = None, **seen: Any) -> MirrorStatement:
    return statement_after(planned, RANGE, RangeSurvey(**seen), applied or Applied())


def test_the_low_watermark_is_that_of_the_slowest_partition_and_never_goes_back() -> None:
    """Not with a partition that begins late, nor with a longer lateness."""
    ahead = after(work(), progress={0: 200 * SECOND, 1: 90 * SECOND})
    assert ahead.low_watermark_us == 80 * SECOND
    assert after(work(), progress={2: 5 * SECOND}).low_watermark_us == 50 * SECOND
    assert after(work(lateness=70)).low_watermark_us == 50 * SECOND


def test_a_rebuild_begins_anew() -> None:
    """It knows every delete again, and a clock that was ahead is believed no longer."""
    planned = replace(work(), rebuild=True)
    anew = after(planned, progress={0: 200 * SECOND, 2: 15 * SECOND})
    assert (anew.progress, anew.low_watermark_us) == ({0: 200 * SECOND, 2: 15 * SECOND}, 5 * SECOND)
    assert (anew.build, anew.rows) == (planned.attempt.id, 0)


def test_a_range_is_added_to_all_before() -> None:
    first = after(work(), applied=Applied(inserted=3, updated=4, deleted=2), operations={"create": 3}, rows=9)
    assert (first.build, first.start, first.end, first.kafka_end) == ("first", 3, 4, {0: 9})
    assert (first.changes, first.rows) == (9, 11)
    second = after(work(first), applied=Applied(inserted=1), operations={"create": 1, "delete": 5})
    assert (second.operations, second.total_operations) == (
        {"create": 1, "delete": 5},
        {"create": 4, "delete": 5},
    )
    assert second.total_applied == Applied(inserted=4, updated=4, deleted=2)


def test_a_row_whose_delete_is_soft_is_still_a_row() -> None:
    applied = Applied(inserted=3, deleted=2)
    assert [after(work(deletes=deletes), applied=applied).rows for deletes in ("hard", "soft")] == [11, 13]
