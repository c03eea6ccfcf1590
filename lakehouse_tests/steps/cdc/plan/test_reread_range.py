"""A rebuild beside a retirement: one of them is refused, and nothing is lost that only the other has."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lakehouse.declarations import Changelog
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc import step as story
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse.steps.cdc.changelog_cleanup.retire import retire_changelog
from lakehouse.steps.cdc.refusals import HistoryIncomplete
from lakehouse.steps.cdc.step import MirrorStep, mirror
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.mirrored import BEGAN, BIRDS, LOG, ROW, MirroredLake, insert

pytestmark = pytest.mark.spark

_DAY = timedelta(days=1)


def test_a_rebuild_is_refused_where_a_retirement_came_first(
    tmp_path: Path, spark_on: SparkOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once published it would have no checkpoint, and the changes that it was made of are gone."""
    log = Changelog(name=LOG, topic="birds", row=ROW, key=("id",), description="Birds.", owner="tests", retention=_DAY)
    settings = sql_settings(tmp_path)
    lake = MirroredLake(open_catalog(settings), log=log)
    lake.ingest(*(insert(n, n, partition=n % 2) for n in range(1, 7)))
    lake.apply()
    make_checkpoint(lake.catalog, lake.tables)
    original = story.publish

    def publish_late(*args: Any, **named: Any) -> Any:
        now, attempt = BEGAN + _DAY + timedelta(seconds=6), Attempt(run_id="retention", step="retire:birds")
        assert retire_changelog(lake.catalog, lake.log, lake.stream, [lake.tables], attempt, now=now)
        return original(*args, **named)

    monkeypatch.setattr(story, "publish", publish_late)
    attempt = Attempt(run_id="rebuild", step=f"mirror:{BIRDS}")
    with pytest.raises(HistoryIncomplete, match="retention removed changes while"):
        mirror(MirrorStep(lake.tables, lake.catalog, lambda: spark_on(settings), attempt, rebuild=True))
    assert check_fold(lake.catalog, lake.tables).holds
    assert make_checkpoint(lake.catalog, lake.tables).tag
