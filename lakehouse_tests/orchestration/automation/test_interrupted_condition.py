"""A run that was cut short has handled no news: the tables are asked for again, after a rest."""

from typing import Any

import dagster as dg
import pytest
from dagster._core.events import StepMaterializationData

from lakehouse.declarations import ByValue
from lakehouse.orchestration.automation.interrupted_condition import REST
from lakehouse_tests.orchestration.automation.followed import ASKED, Followed, derived, release

pytestmark = pytest.mark.slow

FIRST, SECOND, POINTER = "features.first", "features.second", "release.marts"
WHOLE = {FIRST, SECOND, POINTER}


@pytest.fixture
def features(instance: dg.DagsterInstance) -> Followed:
    """Two tables and a release, all of them made once; then an input has news, and they are asked for."""
    tables = (derived("first", "raw.a"), derived("second", "features.first", "raw.a"))
    followed = Followed(instance, tables, [release(FIRST, SECOND)])
    followed.look()
    followed.write("raw.a")
    assert followed.follow() == [WHOLE]
    followed.write("raw.a")
    assert followed.look() == [WHOLE]
    followed.made.clear()
    return followed


def test_tables_of_a_run_that_was_canceled_are_asked_for_again(features: Followed) -> None:
    with features.running(*WHOLE, tags=ASKED):
        assert features.look() == []
    assert features.look() == [], "who cancels a run does not want to see it back at once"
    assert features.follow(later=REST) == [WHOLE]
    assert features.look(later=2 * REST) == []


def test_tables_of_a_run_whose_process_was_killed_are_asked_for_again_as_often_as_it_takes(features: Followed) -> None:
    for times in (1, 2):
        with features.running(*WHOLE, tags=ASKED) as run:
            features.instance.report_run_failed(run, "The process that executed this run is gone.")
        assert features.look(later=REST * times) == [WHOLE]
    features.write(*WHOLE, tags=ASKED)
    assert features.look(later=REST * 4) == []


def test_all_of_a_group_is_asked_for_when_some_of_it_was_made(features: Followed) -> None:
    with features.running(*WHOLE, tags=ASKED) as run:
        features.instance.report_dagster_event(made(run, FIRST), run.run_id)
    assert features.follow(later=REST) == [WHOLE]
    assert features.look(later=2 * REST) == []


def test_what_was_published_before_the_kill_and_told_afterwards_is_not_made_again(features: Followed) -> None:
    with features.running(*WHOLE, tags=ASKED) as run:
        pass
    for name in sorted(WHOLE):
        event = dg.AssetMaterialization(name.split("."), metadata={"published by run": run.run_id})
        features.instance.report_runless_asset_event(event)
    assert not any(asked & {FIRST, SECOND} for asked in features.look(later=REST))


def test_a_release_that_was_cut_off_after_its_members_is_asked_for_alone(features: Followed) -> None:
    with features.running(*WHOLE, tags=ASKED) as run:
        for name in (FIRST, SECOND):
            features.instance.report_dagster_event(made(run, name), run.run_id)
    assert features.follow(later=REST) == [{POINTER}]
    assert features.look(later=2 * REST) == []


def test_a_step_that_failed_is_not_tried_again_however_long_one_waits(features: Followed) -> None:
    features.broken.add(SECOND)
    features.write(*WHOLE, tags=ASKED)
    assert features.made == [FIRST]
    assert features.look(later=REST) == []
    assert features.look(later=100 * REST) == []


def test_a_run_that_somebody_made_by_hand_and_canceled_is_theirs(features: Followed) -> None:
    features.write(*WHOLE, tags=ASKED)
    with features.running(SECOND):
        pass
    assert features.look(later=REST) == []


def test_a_table_in_partitions_is_asked_for_again_whole(instance: dg.DagsterInstance) -> None:
    followed = Followed(instance, [derived("parts", "raw.a", partitions=ByValue(column="part", values=("x", "y")))])
    followed.look()
    followed.write("raw.a")
    assert followed.follow() == [{"features.parts"}]
    followed.write("raw.a")
    assert followed.look() == [{"features.parts"}]
    keys = frozenset({dg.AssetKey(["features", "parts"])})
    job = followed.defs.resolve_implicit_global_asset_job_def().get_subset(asset_selection=set(keys))
    parts = {"dagster/asset_partition_range_start": "x", "dagster/asset_partition_range_end": "y"}
    run = instance.create_run_for_job(job, asset_selection=keys, tags={**ASKED, **parts})
    instance.report_run_canceled(run)
    assert followed.look() == []
    assert followed.follow(later=REST) == [{"features.parts"}]
    assert followed.partitions == [("x", "y")]
    assert followed.look(later=2 * REST) == []


def test_the_sensor_marks_the_runs_that_it_asks_for(instance: dg.DagsterInstance) -> None:
    followed = Followed(instance, [derived("first", "raw.a")])
    [sensor] = followed.defs.sensors or []
    assert isinstance(sensor, dg.AutomationConditionSensorDefinition)

    def tick(cursor: str | None = None) -> Any:
        # Where our code is: Dagster's own evaluation knows no conditions of others.
        context = dg.build_sensor_context(instance=instance, cursor=cursor, definitions=followed.defs)
        return sensor.evaluate_tick(context)

    cursor = tick().cursor
    followed.write("raw.a")
    [request] = tick(cursor).run_requests or []
    assert request.tags.items() >= ASKED.items()
    assert request.asset_selection == [dg.AssetKey(FIRST.split("."))]


def made(run: dg.DagsterRun, name: str) -> dg.DagsterEvent:
    """The event that a step ends with."""
    event = dg.AssetMaterialization(name.split("."))
    return dg.DagsterEvent(
        dg.DagsterEventType.ASSET_MATERIALIZATION.value,
        run.job_name,
        event_specific_data=StepMaterializationData(event),
    )
