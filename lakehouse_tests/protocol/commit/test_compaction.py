"""Spark compacts, or changes, a table between stage and publish: rows are right, or the publish is refused by name.

Guarded mechanisms: the rebase (staged files go onto the compacted head), its bound, and the refusal to rebase an
attempt that did more than append.
"""

import sys
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakehouse.protocol.commit import branch_table, open_branch, publish
from lakehouse.protocol.errors import MainMoved
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import SERVER_FIRST, Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.protocol.commit.oracle import Oracle

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def attempt() -> Attempt:
    return Attempt(run_id="run", step="step")


def compact(spark: SparkSession, name: str) -> None:
    options = "map('rewrite-all', 'true', 'min-input-files', '1')"
    (result,) = spark.sql(f"CALL lake.system.rewrite_data_files(table => '{name}', options => {options})").collect()
    assert result["rewritten_data_files_count"] > 0


def filled(lake: Lake, *names: str, **properties: str) -> None:
    for name in names:
        lake.create(name, **properties)
    for n in (1, 2, 3):
        lake.write(f"fill {n}", **{name: [n] for name in names})


def test_publish_after_a_compaction_that_removed_the_bases_files(lake: Lake, spark_on: SparkOn) -> None:
    filled(lake, "a", "b")
    bases, work = lake.bases(f"{lake.namespace}.a", f"{lake.namespace}.b"), attempt()
    staged = [lake.stage(base, work, [9]) for base in bases.values()]
    oracle = Oracle.of(lake)
    before = oracle.files("a")
    with spark_on(lake.settings) as spark:
        compact(spark, f"{lake.namespace}.a")
        assert not before & oracle.files("a")
        assert publish(lake.catalog, staged).rebases == 1
        expected = {1: "1", 2: "2", 3: "3", 9: "9"}
        assert [oracle.rows(name) for name in "ab"] == [expected, expected]
        assert oracle.attempts("a").count(work.id) == oracle.attempts("b").count(work.id) == 1
        assert oracle.refs("a") == oracle.refs("b") == {"main"}
        seen = spark.sql(f"SELECT n, s FROM lake.{lake.namespace}.a").collect()
        assert {row["n"]: row["s"] for row in seen} == expected
        spark.sql(f"INSERT INTO lake.{lake.namespace}.a VALUES (10, 'java')")  # Java commits on top
    assert oracle.rows("a") == expected | {10: "java"}


@pytest.mark.parametrize("lake", SERVER_FIRST, indirect=True)
def test_compacted_again_and_again_while_rebasing(
    lake: Lake, spark_on: SparkOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rebases in a row succeed; the fourth is one too many, and `main` stays as the compactions left it."""
    filled(lake, "a")
    name, oracle = f"{lake.namespace}.a", Oracle.of(lake)
    module = sys.modules[publish.__module__]
    real = module.rebase
    with spark_on(lake.settings) as spark:
        compactions = iter([None])

        def rebase_then_compact(*args: Any) -> Any:
            rebased = real(*args)
            if next(compactions, "over") is None:
                compact(spark, name)
            return rebased

        monkeypatch.setattr(module, "rebase", rebase_then_compact)
        staged = lake.stage(lake.bases(name)[name], attempt(), [9])
        compact(spark, name)
        assert publish(lake.catalog, [staged]).rebases == 2
        assert oracle.rows("a") == {1: "1", 2: "2", 3: "3", 9: "9"}
        assert oracle.refs("a") == {"main"}

        compactions = iter([None] * 10)
        staged = lake.stage(lake.bases(name)[name], attempt(), [10])
        compact(spark, name)
        with pytest.raises(MainMoved, match="again after each of 3 rebases"):
            publish(lake.catalog, [staged])
    assert oracle.rows("a") == {1: "1", 2: "2", 3: "3", 9: "9"}


@pytest.mark.parametrize("lake", SERVER_FIRST, indirect=True)
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_a_merge_is_not_rebased(lake: Lake, spark_on: SparkOn, mode: str) -> None:
    """It read the base's files and removed rows from them; the compacted ones it has never seen."""
    filled(lake, "a", **{"write.merge.mode": mode})
    name = f"{lake.namespace}.a"
    base, work = lake.bases(name)[name], attempt()
    open_branch(lake.catalog, base, work)
    with spark_on(lake.settings) as spark:
        spark.conf.set("spark.sql.iceberg.snapshot-property.lakehouse.attempt", work.id)
        spark.sql(
            f"MERGE INTO {branch_table(base, work)} t USING (SELECT 2L AS n) v ON t.n = v.n "
            "WHEN MATCHED THEN UPDATE SET t.s = 'merged'"
        )
        spark.conf.unset("spark.sql.iceberg.snapshot-property.lakehouse.attempt")
        staged = lake.stage(base, work, [])
        compact(spark, name)
        with pytest.raises(MainMoved, match="more than append"):
            publish(lake.catalog, [staged])
    assert Oracle.of(lake).rows("a") == {1: "1", 2: "2", 3: "3"}
