"""Expiry on a table of version 3 that Spark writes: several delete vectors share a file, and row ids have to stay.

Guarded mechanism: what only the gone have reached is told file by file, whatever a manifest says of them; and the table
is as readable for Spark afterwards as before.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Expire
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.expire.expire import Expired, expire
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.protocol.commit.rewrites import entries
from lakehouse_tests.steps.maintenance.rewrite.test_compact import write3
from lakehouse_tests.steps.maintenance.rewriting import NAME, Events

pytestmark = pytest.mark.spark
NOBODY = Declarations({}, {}, {})


def _names(events: Events, *suffixes: str) -> set[str]:
    folder = Path(urlparse(events.table.location()).path)
    return {path.name for path in folder.rglob("*") if path.name.endswith(suffixes) and not path.name.startswith(".")}


def _reachable(events: Events) -> set[str]:
    """From every snapshot that is left, by plain PyIceberg."""
    table, paths = events.table, set[str]()
    for snapshot in table.metadata.snapshots:
        for manifest in snapshot.manifests(table.io):
            paths |= {entry.data_file.file_path.rpartition("/")[2] for entry in manifest.fetch_manifest_entry(table.io)}
    return paths


def _rows(spark: SparkSession) -> list[tuple[int, ...]]:
    rows = spark.sql(f"SELECT id, _row_id, _last_updated_sequence_number FROM lake.{NAME} ORDER BY id")
    return [tuple(row) for row in rows.collect()]


def _live_vectors(events: Events) -> set[str]:
    paths = (entry.data_file.file_path for entry in entries(events.table).values())
    return {path.rpartition("/")[2] for path in paths if path.endswith(".puffin")}


def _expire(events: Events, *, now: datetime | None = None) -> Expired:
    return expire(events.lake.catalog, NOBODY, NAME, Expire(min_snapshots_to_keep=2, max_snapshots=2), now=now)


@pytest.mark.timeout(300)
def test_delete_vectors_and_row_ids(sql_lake: Lake, spark_on: SparkOn) -> None:
    events = Events.create(sql_lake, spark_on)
    with spark_on(sql_lake.settings) as spark:
        spark.conf.set("spark.sql.shuffle.partitions", "1")  # one task writes the vectors of all files
        spark.sql(
            f"ALTER TABLE lake.{NAME} SET TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read')"
        )
        for numbers in (range(4), range(4, 8), range(8, 12)):
            write3(events, spark, numbers)
        write3(events, spark, (), delete="id IN (0, 5)")
        (shared,) = _names(events, ".puffin")  # vectors of two data files in one file
        write3(events, spark, (), delete="id = 2")  # one of the two is not needed any more
        before, head = _rows(spark), head_of(events.table)
        spark.sql(f"ALTER TABLE lake.{NAME} REPLACE BRANCH main WITH SNAPSHOT RETENTION 90 SNAPSHOTS 9 DAYS")
        (kept,) = _expire(events).selection.blocked
        assert kept.reason == "its own retention keeps 90 snapshots and those of 9 days"
        spark.sql(kept.command.replace(NAME, f"lake.{NAME}"))  # what a person is told to do about it
        assert head_of(events.table) == head
        soon = datetime.now(UTC) + timedelta(minutes=2)
        assert _expire(events, now=soon).after == 2
        assert shared in _names(events, ".puffin") == _live_vectors(events)
        assert _names(events, ".puffin", ".parquet") == _reachable(events)
        write3(events, spark, (), delete="id = 7")  # nor is the other
        _expire(events, now=soon)
        assert shared not in _names(events, ".puffin") == _live_vectors(events)
        assert _rows(spark) == [row for row in before if row[0] != 7]

        assert events.compact().result == "done"
        write3(events, spark, range(12, 14))
        assert _expire(events, now=soon).files > 0
        assert _names(events, ".puffin") == set()
        assert _names(events, ".puffin", ".parquet") == _reachable(events)
        assert [row[0] for row in _rows(spark)] == [1, 3, 4, 6, *range(8, 14)]
        assert _rows(spark)[:-2] == [row for row in before if row[0] != 7]
