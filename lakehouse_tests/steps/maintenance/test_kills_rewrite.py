"""Kill −9 inside a rewrite: nobody sees it, the next one does the work, and what is left goes with housekeeping.

Guarded mechanisms: nothing but the attempt's own branch is touched before the publish; housekeeping deletes only what
no other snapshot reaches.
"""

import signal
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlparse

import pytest

from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.seals.history import head_of
from lakehouse.settings import Settings
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.maintenance.compact_child import compact_and_die
from lakehouse_tests.steps.maintenance.rewriting import Events

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.kill, pytest.mark.slow]
POINTS = ("rewrite.written", "rewrite.proven", "stage.before", "seal.after", "publish.before", "publish.after")


@pytest.mark.timeout(900)
def test_the_rewrite_after_a_killed_one(
    sql_lake: Lake, spark_on: SparkOn, connect_settings: Settings, tmp_path: Path
) -> None:
    """At one seam after the other, on the same table: what a killed one left lies about when the next is killed."""
    events = Events.create(sql_lake, spark_on)
    for place, point in enumerate(POINTS):
        with spark_on(sql_lake.settings) as spark:
            events.append(spark, range(10 * place, 10 * place + 4), range(10 * place + 4, 10 * place + 8))
        before, head, refs = events.rows(), head_of(events.table), set(events.table.metadata.refs)
        assert compact_and_die(sql_lake.settings, connect_settings, tmp_path / "child.log", point) == -signal.SIGKILL, (
            point,
            (tmp_path / "child.log").read_text()[-2000:],
        )
        assert events.rows() == before, point
        landed = point == "publish.after"
        assert (head_of(events.table) == head) is not landed
        assert (set(events.table.metadata.refs) == refs) is landed
        assert events.compact().result == ("nothing" if landed else "done"), point
        assert events.rows() == before, point
    for left in abandoned_branches(events.table, older_than=timedelta(0)):
        drop_branch(sql_lake.catalog, left)
    assert set(events.table.metadata.refs) == {"main"}
    assert events.rows() == before
    # By name: writers spell the same path in different ways.
    on_disk = {path.name for path in Path(urlparse(events.table.location()).path).rglob("data/**/*.parquet")}
    table = events.table
    known = {
        entry.data_file.file_path.rpartition("/")[2]
        for snapshot in table.metadata.snapshots
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io)
    }
    assert on_disk == known
