"""Ours beside a user's: merged in a project with an executor and a `spark` of its own, made in one run."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from lakehouse import Lake, build_defs, load_settings
from lakehouse_tests.orchestration.assets.house import House
from lakehouse_tests.orchestration.assets.story import new_story

PREFIX = "corp/lake"
OURS = dg.AssetKey(["corp", "lake", "mart", "shop_sizes"])
THEIRS = dg.AssetKey(["reports", "largest"])


class TheirSpark:
    """What a user calls `spark`."""

    largest = "the largest"


@dg.asset(key=THEIRS, deps=[OURS])
def largest(spark: dg.ResourceParam[TheirSpark], tables: dg.ResourceParam[Lake]) -> dg.MaterializeResult:
    """Reads a table of ours through the lake, and has a spark of its own."""
    assert isinstance(spark, TheirSpark)
    return dg.MaterializeResult(metadata={spark.largest: max(tables.arrow("mart.shop_sizes")["orders"].to_pylist())})


def merged() -> dg.Definitions:
    ours = build_defs(load_settings(), resource_keys={"lake": "tables", "spark": "lake_spark"})
    both = dg.define_asset_job("both", [OURS, THEIRS])
    theirs = dg.Definitions(
        assets=[largest], jobs=[both], resources={"spark": TheirSpark()}, executor=dg.in_process_executor
    )
    return dg.Definitions.merge(ours, theirs)


def merged_job() -> dg.JobDefinition:
    """Both, as another process would load them."""
    return merged().resolve_job_def("both")


@pytest.fixture
def story(tmp_path: Path, jars: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    with new_story(tmp_path, jars, monkeypatch) as house:
        monkeypatch.setenv("LAKEHOUSE__DAGSTER__ASSET_KEY_PREFIX", PREFIX)
        yield house


@pytest.mark.spark
def test_one_run_makes_an_asset_of_ours_and_one_of_theirs(story: House) -> None:
    assert merged_job().executor_def is dg.in_process_executor
    with dg.execute_job(dg.reconstructable(merged_job), instance=story.instance) as result:
        assert result.success
        events = result.all_events
    made = {event.asset_key for event in events if event.is_step_materialization}
    kind = dg.DagsterEventType.ASSET_CHECK_EVALUATION
    judged = [event.asset_check_evaluation_data for event in events if event.event_type is kind]
    assert made == {OURS, THEIRS}
    assert {check.asset_key for check in judged} == {OURS}
    known = story.instance.get_latest_materialization_event(THEIRS)
    assert known is not None
    assert known.asset_materialization is not None
    assert known.asset_materialization.metadata[TheirSpark.largest].value == 2
