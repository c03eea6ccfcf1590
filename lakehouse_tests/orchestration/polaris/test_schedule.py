"""The schedule: there where a server is named, and switched off where nothing starts."""

from pathlib import Path

import dagster as dg
import pytest

from lakehouse.build import build_defs
from lakehouse.orchestration.automation.sensor_options import SensorOptions
from lakehouse.orchestration.polaris.schedule import JOB, polaris_schedule
from lakehouse.settings import load_settings

CONF = Path(__file__).parents[3] / "conf"


def test_without_a_server_there_is_none() -> None:
    assert not list(build_defs(load_settings(CONF, {})).schedules or [])


def test_it_runs_both_checks_of_the_server_that_is_named() -> None:
    defs = build_defs(load_settings(CONF, {"LAKEHOUSE__POLARIS": "example"}))
    (schedule,) = defs.schedules or []
    assert isinstance(schedule, dg.ScheduleDefinition)
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING
    job = defs.resolve_job_def(JOB)
    assert [(node.name, set(node.output_dict)) for node in job.nodes] == [
        ("polaris_servers__polaris__example", {f"servers__polaris__example_{name}" for name in ("as_declared", "well")})
    ]


@pytest.mark.parametrize("status", list(dg.DefaultSensorStatus))
def test_it_starts_where_automation_starts(status: dg.DefaultSensorStatus) -> None:
    schedule = polaris_schedule("example", SensorOptions(status=status))
    assert schedule.default_status.value == status.value
