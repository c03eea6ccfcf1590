"""The sensor looks at offsets, starts one run per position, and is not upset by a broker that is away."""

from dataclasses import dataclass, field

import dagster as dg
import pytest

from lakehouse.engines.kafka import BrokerUnreachable
from lakehouse.orchestration.automation.stream_decision import position_digest
from lakehouse.orchestration.run_context import POSITION_TAG, STREAM_TAG
from lakehouse_tests.orchestration.assets.house import House
from lakehouse_tests.orchestration.automation.standing import read_birds

pytestmark = pytest.mark.kafka


@dataclass
class Look:
    """What a tick of the sensor said."""

    run_requests: list[dg.RunRequest]
    skip_reason: str
    cursor: str | None
    checks: list[dg.AssetCheckEvaluation] = field(default_factory=list[dg.AssetCheckEvaluation])


def look(house: House, cursor: str | None = None) -> Look:
    defs = house.defs()
    sensor = next(candidate for candidate in defs.sensors or [] if candidate.name == "birds_lag")
    context = dg.build_sensor_context(
        instance=house.instance, cursor=cursor, definitions=defs, resources={"lake": house.lake()}
    )
    tick = sensor.evaluate_tick(context)
    checks = [event for event in tick.asset_events if isinstance(event, dg.AssetCheckEvaluation)]
    return Look(list(tick.run_requests or []), tick.skip_message or "", tick.cursor, checks)


def test_a_stream_that_never_ran_is_started_also_on_an_empty_topic(house: House) -> None:
    result = look(house)
    assert result.run_requests
    assert result.run_requests[0].tags[STREAM_TAG] == "birds"
    assert look(house).run_requests[0].run_key == result.run_requests[0].run_key


def test_its_runs_include_the_checks(house: House) -> None:
    defs = house.defs()
    job = defs.resolve_job_def("__anonymous_asset_job_birds_lag")
    assert {node.name for node in job.nodes} == {"ingest_birds", "prove_birds"}
    sensor = next(candidate for candidate in defs.sensors or [] if candidate.name == "birds_lag")
    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING


def test_a_run_that_is_under_way_is_waited_for(house: House) -> None:
    run = house.instance.create_run_for_job(
        house.defs().resolve_implicit_global_asset_job_def(), tags={STREAM_TAG: "birds"}
    )
    house.instance.report_run_failed(run)
    assert look(house).run_requests
    house.instance.create_run_for_job(house.defs().resolve_implicit_global_asset_job_def(), tags={STREAM_TAG: "birds"})
    assert "under way" in look(house).skip_reason


def test_a_run_that_failed_is_tried_again_later_from_the_same_position_and_at_once_from_another(house: House) -> None:
    [request] = look(house).run_requests
    job = house.defs().resolve_implicit_global_asset_job_def()
    for reason in ("the last run failed", "the last 2 runs failed"):
        house.instance.report_run_failed(house.instance.create_run_for_job(job, tags=dict(request.tags)))
        assert f"no position yet; {reason}, the next try is at" in look(house).skip_reason
    house.birds(1)
    assert f"no position yet; {reason}" in look(house).skip_reason, "what arrives is no reason to try again"
    moved = dict(request.tags) | {POSITION_TAG: "elsewhere"}
    house.instance.report_run_failed(house.instance.create_run_for_job(job, tags=moved))
    assert "the last 2 runs failed" in look(house).skip_reason, "another position's failure is none of this one"


def test_an_absent_broker_fails_the_tables_check_once_until_it_is_back(house: House) -> None:
    conf = house.conf / "kafka" / "local.yaml"
    there = conf.read_text()
    conf.write_text("bootstrap_servers: 127.0.0.1:1\n")
    away = look(house)
    assert not away.run_requests
    assert "127.0.0.1:1" in away.skip_reason
    [check] = away.checks
    assert (check.asset_key, check.check_name) == (dg.AssetKey(["raw", "birds"]), "freshness_and_lag")
    assert not check.passed
    assert "127.0.0.1:1" in str(check.description)
    still = look(house, away.cursor)
    assert (still.checks, still.cursor) == ([], away.cursor), "told once, not at every look"
    conf.write_text(there)
    back = look(house, still.cursor)
    assert [check.passed for check in back.checks] == [True]
    assert back.run_requests, "and the stream goes on"
    assert look(house, back.cursor).checks == []


def test_an_absent_topic_fails_the_tables_check(house: House) -> None:
    text = (house.conf / "declarations" / "sightings.py").read_text()
    house.declare("sightings", text.replace(house.topic, "no-such-topic"))
    missing = look(house)
    assert "no-such-topic" in missing.skip_reason
    assert [(check.passed, "no-such-topic" in str(check.description)) for check in missing.checks] == [(False, True)]


def test_a_stream_that_falls_behind_fails_its_check_though_no_run_succeeds(house: House) -> None:
    text = (house.conf / "declarations" / "sightings.py").read_text()
    house.declare(
        "sightings",
        text.replace("max_quarantine_share", "freshness=timedelta(microseconds=1), max_quarantine_share").replace(
            "from lakehouse import", "from datetime import timedelta\n\nfrom lakehouse import"
        ),
    )
    house.birds(2)
    assert look(house).checks == [], "it has not begun, so nothing is late"
    read_birds(house, 0)
    late = look(house)
    assert [check.passed for check in late.checks] == [False]
    assert "longer than" in str(late.checks[0].description)
    assert look(house, late.cursor).checks == []


def test_a_broker_that_goes_while_it_is_asked_fails_the_check_and_not_the_tick(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guarded mechanism: what a verdict still asks is asked where an absent broker is expected."""

    def gone(*_: object) -> None:
        raise BrokerUnreachable("gone meanwhile")

    house.birds(2)
    read_birds(house, 0)
    monkeypatch.setattr("lakehouse.orchestration.automation.stream_sensor._has_older", lambda *_: True)
    monkeypatch.setattr("lakehouse.orchestration.checks.stream.verdict.oldest_unread", gone)
    tick = look(house)
    assert "gone meanwhile" in tick.skip_reason
    assert [(check.passed, "gone meanwhile" in str(check.description)) for check in tick.checks] == [(False, True)]


def test_a_topic_made_anew_is_refused_by_name_while_it_is_still_shorter_than_what_was_read(house: House) -> None:
    house.birds(2)
    read_birds(house, 100, topic_id="before")
    [request] = look(house).run_requests
    assert request.tags[POSITION_TAG] == position_digest("TopicRecreated")
    assert [check.passed for check in look(house).checks] == [False]


def test_a_log_that_ends_before_the_position_is_refused_by_name(house: House) -> None:
    house.birds(2)
    read_birds(house, 100)
    [request] = look(house).run_requests
    assert request.tags[POSITION_TAG] == position_digest("PositionBeyondEnd")


@pytest.mark.spark
def test_new_records_wait_a_moment_then_start_a_run_from_the_new_position(working_house: House) -> None:
    house = working_house
    house.birds(5)
    first = look(house).run_requests
    assert first
    assert house.run().success
    settled = look(house)
    assert settled.skip_reason == "nothing unread"
    house.birds(2)
    waiting = look(house, settled.cursor)
    assert "2 unread" in waiting.skip_reason
    second = look(house, waiting.cursor).run_requests
    assert second
    assert second[0].run_key != first[0].run_key


@pytest.mark.spark
def test_tables_that_contradict_each_other_start_a_run_that_refuses_by_name(working_house: House) -> None:
    house = working_house
    house.birds(5)
    assert house.run().success
    table = house.lake().catalog.load_table(("raw", "birds"))
    table.append(table.scan(limit=1).to_arrow())
    requests = look(house).run_requests
    assert requests
    result = house.run()
    assert not result.success
    [failed] = result.get_step_failure_events()
    assert failed.step_failure_data.error is not None
    assert "UnsealedCommit" in failed.step_failure_data.error.to_string()
