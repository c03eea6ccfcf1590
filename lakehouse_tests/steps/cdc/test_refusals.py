"""Why a mirror does not go ahead, a case each: decided from metadata, without Spark.

Guarded mechanism: every snapshot of a range is looked at.
"""

from typing import Any

import pytest
from pyiceberg.table import Table

from lakehouse.declarations import apply, plan
from lakehouse.steps.cdc.plan.range import next_range
from lakehouse.steps.cdc.refusals import ChangelogRolledBack, ForeignChange
from lakehouse.steps.cdc.statement import MirrorStatement
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.cdc.conftest import Feed, changelog_of, upsert

NAME, LOG = "mirror.things", "changelog.things"


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
