"""Why a mirror does not go ahead, a case each: decided from metadata, without Spark. All of them are in `test_plan`.

Guarded mechanisms: every snapshot of a range is looked at, the mirror's tables have to tell the same, and the low
watermark never goes back.
"""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyiceberg.table import Table

from lakehouse.declarations import Mirror, MirrorTables, apply, plan
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.protocol.commit import publish
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc.fold.survey import RangeSurvey
from lakehouse.steps.cdc.fold_range import MirrorWork, state
from lakehouse.steps.cdc.plan.range import Range, next_range, stored_statement
from lakehouse.steps.cdc.refusals import ChangelogRolledBack, ForeignChange, StatementsDiffer
from lakehouse.steps.cdc.statement import Applied, MirrorStatement
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.cdc.conftest import Feed, changelog_of, upsert

NAME, LOG = "mirror.things", "changelog.things"
SECOND = 1_000_000


@pytest.fixture
def feed(sql_lake: Lake) -> Feed:
    log = changelog_of()
    apply(plan(log.table, sql_lake.catalog), sql_lake.catalog)
    return Feed(sql_lake.catalog, log)


def changelog(feed: Feed) -> Table:
    return feed.catalog.load_table(tuple(LOG.split(".")))


def statement(end: int, **more: Any) -> MirrorStatement:
    return MirrorStatement(
        **{"changelog": LOG, "changelog_uuid": "uuid", "build": "b", "start": None, "end": end} | more
    )


def refused(feed: Feed, end: int, refusal: type[Exception]) -> None:
    log = changelog(feed)
    stands = statement(end, changelog_uuid=str(log.metadata.table_uuid))
    with pytest.raises(refusal):
        next_range(NAME, stands, log, max_changes=100)


def test_a_commit_that_removed_rows(feed: Feed) -> None:
    first = feed.append([upsert(1, 1), upsert(2, 2)])
    changelog(feed).delete("_kafka_offset = 0")
    feed.append([upsert(3, 3)])
    refused(feed, first, ForeignChange)


def test_a_changelog_that_was_rolled_back(feed: Feed) -> None:
    first, second = (feed.append([upsert(n, n)]) for n in (1, 2))
    changelog(feed).manage_snapshots().set_current_snapshot(first).commit()
    feed.append([upsert(3, 3)])
    refused(feed, second, ChangelogRolledBack)


def test_a_table_of_the_mirror_that_was_set_back_alone(sql_lake: Lake) -> None:
    names = [sql_lake.create(name) for name in "ab"]
    for rows, sealed in ((1, names), (2, names[:1])):
        bases, attempt = sql_lake.bases(*sealed), Attempt("run", f"mirror:{rows}")
        keys = statement(1, rows=rows).to_keys()
        publish(sql_lake.catalog, [sql_lake.stage(bases[name], attempt, [], **keys) for name in sealed])
    with pytest.raises(StatementsDiffer):
        stored_statement(NAME, sql_lake.bases(*names))


def test_the_low_watermark_is_that_of_the_slowest_partition_and_never_goes_back() -> None:
    log = changelog_of()
    tables = MirrorTables(Mirror(name=NAME, changelog=log, lateness=timedelta(seconds=10)), log)
    named = cast("Table", SimpleNamespace(name=lambda: tuple(LOG.split(".")), metadata=SimpleNamespace(table_uuid="u")))
    span = Range(named, None, 1, 0, 0, (), KafkaStatement("c", "things", "t", {}, {}))
    known = statement(1, progress={0: 100 * SECOND, 1: 60 * SECOND}, low_watermark_us=50 * SECOND)
    work = MirrorWork(tables, cast("Any", None), Attempt("run", "mirror"), {}, known)
    ahead = state(work, span, RangeSurvey(progress={0: 200 * SECOND, 1: 90 * SECOND}), Applied())
    assert ahead.low_watermark_us == 80 * SECOND
    behind = state(work, span, RangeSurvey(progress={2: 5 * SECOND}), Applied())
    assert behind.low_watermark_us == 50 * SECOND
