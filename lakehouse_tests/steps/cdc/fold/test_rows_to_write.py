"""What a fold writes is computed once."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.steps.cdc.fold.rows_to_write import resolve
from lakehouse.steps.cdc.fold.scope import FoldScope
from lakehouse_tests.steps.cdc.folding import changelog_rows, frame
from lakehouse_tests.steps.cdc.plain_fold import Change
from lakehouse_tests.steps.cdc.test_semantics import HARD, position_of

pytestmark = pytest.mark.spark


def test_a_delta_is_computed_once(quick: SparkSession, tmp_path: Path) -> None:
    log = HARD.changelog
    changes = [
        Change("insert", (1,), position_of(1), {"a": value, "b": 1}, offset=offset) for offset, value in enumerate("xy")
    ]
    frame(quick, log.table, changelog_rows(HARD, changes)).write.parquet(str(tmp_path / "changes"))
    delta = resolve(quick.read.parquet(str(tmp_path / "changes")), FoldScope(log))
    shutil.rmtree(tmp_path / "changes")
    assert [(row["a"], row["_action"]) for row in delta.rows.collect()] == [("x", "insert")]
    assert [row["offset"] for row in delta.refused.collect()] == [1]
