"""Rows of an initial copy stand before every change."""

import pytest
from pyspark.sql import SparkSession

from lakehouse.steps.cdc.fold.rows_to_write import resolve
from lakehouse.steps.cdc.fold.scope import FoldScope, SealedFold
from lakehouse.steps.cdc.fold.survey import survey
from lakehouse.steps.cdc.plan.initial_load import as_reads
from lakehouse.steps.cdc.position import ChangePosition
from lakehouse_tests.steps.cdc.folding import Mirrored, changelog_rows, frame
from lakehouse_tests.steps.cdc.plain_fold import Change
from lakehouse_tests.steps.cdc.test_semantics import HARD, position_of

pytestmark = pytest.mark.spark


def test_rows_of_an_initial_copy_are_older_than_every_change(quick: SparkSession) -> None:
    log = HARD.changelog
    initial = quick.createDataFrame([(1, "copied"), (2, "copied")], "id int, a string")
    later = Mirrored(quick, HARD)
    change = Change("update", (1,), position_of(0)._replace(sequence=1), {"a": "read since", "b": 7})
    changes = frame(quick, log.table, changelog_rows(HARD, [change]))
    both = as_reads(initial, log).unionByName(changes)
    later.write(
        resolve(both, FoldScope.of(log, HARD.mirror, SealedFold(low_watermark_us=10**15), survey(changes, log)))
    )
    assert {key: row["a"] for key, row in later.rows.items()} == {(1,): "read since", (2,): "copied"}
    assert later.rows[2,]["_cdc_source_time"] is None
    assert ChangePosition.of(later.rows[2,]["_cdc_position"]) == ChangePosition(0, 0, 0)
    with pytest.raises(ValueError, match="no key column id"):
        as_reads(initial.drop("id"), log)
