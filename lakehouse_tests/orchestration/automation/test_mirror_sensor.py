"""The sensor of a mirror compares seals, starts one run per pair of snapshots, and backs off where a mirror refuses."""

from dataclasses import replace
from datetime import timedelta

import dagster as dg
import pytest

from lakehouse.declarations import MirrorTables
from lakehouse.orchestration.assets import mirror_keys
from lakehouse.orchestration.automation import mirror_due, mirror_sensor
from lakehouse.orchestration.run_context import MIRROR_TAG
from lakehouse.steps.cdc.status import mirror_standing
from lakehouse_tests.orchestration.assets.house import House
from lakehouse_tests.orchestration.automation.standing import land_changes, mirror_changes
from lakehouse_tests.orchestration.automation.test_stream_sensor import Look

pytestmark = pytest.mark.kafka


def look(house: House, tables: MirrorTables) -> Look:
    """Evaluate the sensor as the daemon does."""
    sensor = mirror_sensor(tables, mirror_keys(tables))
    tick = sensor.evaluate_tick(dg.build_sensor_context(instance=house.instance, resources={"lake": house.lake()}))
    return Look(list(tick.run_requests or []), tick.skip_message or "", tick.cursor)


def a_run(house: House, tables: MirrorTables) -> dg.DagsterRun:
    job = house.defs().resolve_implicit_global_asset_job_def()
    return house.instance.create_run_for_job(job, tags={MIRROR_TAG: tables.mirror.name})


def test_a_mirror_follows_from_the_first_change_until_all_are_in_it(house: House) -> None:
    tables = house.follow(target_lag=0.001)
    assert look(house, tables).skip_reason == "the changelog is empty", "nothing exists yet"
    first = land_changes(house, tables, 3)
    [request] = look(house, tables).run_requests
    assert request.tags[MIRROR_TAG] == "mirror.nests"
    assert request.run_key is not None
    assert request.run_key.startswith(f"mirror.nests:0:{first}:")
    mirror_changes(house, tables, first)
    assert look(house, tables).skip_reason == "every change is in the mirror"
    land_changes(house, tables, 2)
    land_changes(house, tables, 0)
    [again] = look(house, tables).run_requests
    assert again.run_key != request.run_key
    assert mirror_standing(house.lake().catalog, tables).waiting == 2


def test_young_changes_wait_for_a_share_of_the_target(house: House) -> None:
    tables = house.follow(target_lag=3600)
    land_changes(house, tables, 3)
    assert look(house, tables).skip_reason == "3 changes wait, none for longer than 900 s"
    at_once = mirror_due(tables, house.lake(), target_lag=timedelta(0))
    assert (at_once.run_key is not None, at_once.reason) == (True, "3 changes wait"), "the command asks the same"


def test_a_run_that_is_under_way_is_waited_for_and_one_that_failed_is_tried_again_later(house: House) -> None:
    tables = house.follow(target_lag=0.001)
    land_changes(house, tables, 3)
    run = a_run(house, tables)
    assert look(house, tables).skip_reason == "a run of this mirror is under way"
    house.instance.report_run_failed(run)
    assert "3 changes wait; the last run failed, the next try is at" in look(house, tables).skip_reason
    house.instance.report_run_failed(a_run(house, tables))
    assert "the last 2 runs failed" in look(house, tables).skip_reason


def test_a_mirror_that_is_stopped_leaves_the_others_running(house: House) -> None:
    stopped, other = house.follow("nests", target_lag=0.001), house.follow("feeders", target_lag=0.001)
    for tables in (stopped, other):
        land_changes(house, tables, 3)
    house.instance.report_run_failed(a_run(house, stopped))
    assert not look(house, stopped).run_requests
    assert look(house, other).run_requests


def test_a_mirror_whose_position_is_gone_starts_a_run_that_says_so(house: House) -> None:
    tables = house.follow(target_lag=3600)
    mirror_changes(house, tables, land_changes(house, tables, 3))
    catalog = house.lake().catalog
    catalog.drop_table(("changelog", "nests"))
    land_changes(house, tables, 1)
    [request] = look(house, tables).run_requests
    assert request.run_key is not None
    standing = mirror_standing(catalog, tables)
    assert standing.doubt
    assert standing.lags


def test_a_mirror_that_has_reached_a_snapshot_that_is_not_listed_is_in_doubt(house: House) -> None:
    tables = house.follow()
    land_changes(house, tables, 3)
    mirror_changes(house, tables, 4711)
    assert "4711" in mirror_standing(house.lake().catalog, tables).doubt


def test_a_mirror_with_an_initial_table_begins_with_an_empty_changelog(house: House) -> None:
    tables = house.follow()
    begins = MirrorTables(replace(tables.mirror, initial="raw.birds"), tables.changelog)
    assert not mirror_standing(house.lake().catalog, begins).lags
    land_changes(house, tables, 0)
    assert mirror_standing(house.lake().catalog, begins).lags
    assert not mirror_standing(house.lake().catalog, tables).lags
