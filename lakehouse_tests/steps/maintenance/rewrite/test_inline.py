"""Every so many commits the ingest compacts what it has written itself, and never fails by it.

Guarded mechanisms: appends are counted from the last rewrite on; only partitions that they touched are taken, quiet or
not; a failure is a row and a warning.
"""

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakehouse.declarations import MAINTENANCE_LOG, Maintenance, Rewrite
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.steps.maintenance.model.action import ActionOutcome, MaintenanceWork
from lakehouse.steps.maintenance.rewrite import inline
from lakehouse.steps.maintenance.rewrite.inline import compact_after
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.maintenance.rewriting import Events

pytestmark = [pytest.mark.spark, pytest.mark.slow]
# An hour of quiet is asked of everybody else, and more small files than there will be.
POLICY = Maintenance(rewrite=Rewrite(every_commits=3, quiet_for=timedelta(hours=1), min_input_files=50))


def decisions(catalog: LakeCatalog) -> list[dict[str, Any]]:
    rows = catalog.load_table(MAINTENANCE_LOG.identifier).scan().to_arrow().to_pylist()
    return sorted(rows, key=lambda row: row["at"])


def after(events: Events, warned: list[str], **more: Any) -> ActionOutcome | None:
    return compact_after("upkeep.events", lambda: events.work(**more), 3, warn=warned.append)


def per_day(events: Events) -> dict[Any, int]:
    days = [entry.data_file.partition[0] for entry in events.entries()]
    return {day: days.count(day) for day in sorted(set(days))}


def test_every_third_commit(sql_lake: Lake, spark_on: SparkOn) -> None:
    events, warned = Events.create(sql_lake, spark_on, maintenance=POLICY), list[str]()
    with spark_on(sql_lake.settings) as spark:
        events.append(spark, range(4), range(4, 8))
        assert after(events, warned) is None
        events.append(spark, range(8, 12))
        before = events.rows()
        done = after(events, warned)
        assert done is not None
        assert done.result == "done", done.message
        assert events.rows() == before
        assert per_day(events) == {15706: 1, 15707: 1}
        assert warned == []
        rows = decisions(sql_lake.catalog)
        assert [(row["phase"], row["result"], row["run_id"]) for row in rows] == [
            ("decided", "chosen", "upkeep"),
            ("finished", "done", "upkeep"),
        ]
        assert "3 appends since the last rewrite" in rows[0]["reasons"]

        # Only even numbers: the other day was not touched since.
        events.append(spark, [20], [22])
        assert after(events, warned) is None
        events.append(spark, [24])
        done = after(events, warned)
        assert done is not None
        assert [partition.name for partition in done.action.partitions] == ["day=2013-01-01"]
        assert per_day(events) == {15706: 1, 15707: 1}


def test_no_more_bytes_than_one_group(sql_lake: Lake, spark_on: SparkOn) -> None:
    events, warned = Events.create(sql_lake, spark_on, maintenance=POLICY), list[str]()
    with spark_on(sql_lake.settings) as spark:
        events.append(spark, range(4), range(4, 8), range(8, 12))
    sizes = {e.data_file.partition[0]: 0 for e in events.entries()}
    for entry in events.entries():
        sizes[entry.data_file.partition[0]] += entry.data_file.file_size_in_bytes
    assert POLICY.rewrite
    most = max(sizes.values()) + 1
    small = replace(POLICY.rewrite, max_group_bytes=most, target_file_size=most)
    done = after(events, warned, policy=replace(POLICY, rewrite=small))
    assert done is not None, warned
    assert len(done.action.partitions) == 1


def test_a_failure_is_a_row_and_a_warning(sql_lake: Lake, spark_on: SparkOn, monkeypatch: pytest.MonkeyPatch) -> None:
    events, warned = Events.create(sql_lake, spark_on, maintenance=POLICY), list[str]()
    with spark_on(sql_lake.settings) as spark:
        events.append(spark, range(4), range(4, 8), range(8, 12))
    before = events.rows()

    def broken() -> AbstractContextManager[SparkSession]:
        raise RuntimeError("a value that nobody may see")

    assert after(events, warned, session=broken).result == "failed"  # type: ignore[union-attr]
    assert len(warned) == 1
    assert "RuntimeError" in warned[0]
    assert [row["result"] for row in decisions(sql_lake.catalog)] == ["chosen", "failed"]
    assert "nobody may see" not in f"{warned}{decisions(sql_lake.catalog)}"
    assert events.rows() == before

    # Not even where nothing can be written down, or the table cannot be loaded.
    monkeypatch.setattr(inline, "record", lambda *args, **more: 1 / 0)
    assert after(events, warned) is None
    assert "ZeroDivisionError" in warned[1]

    def gone() -> MaintenanceWork:
        raise OSError

    assert compact_after("upkeep.events", gone, 3, warn=warned.append) is None
    assert "OSError" in warned[2]
