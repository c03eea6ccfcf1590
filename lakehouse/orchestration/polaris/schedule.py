"""When a Polaris server is compared with its file: every hour, by a schedule that nobody has to switch on."""

import dagster as dg

from lakehouse.orchestration.automation.sensor_options import SensorOptions
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.polaris.server_checks import polaris_key

JOB = "polaris"
_CRON = "17 * * * *"


def polaris_schedule(server: str, options: SensorOptions, names: DagsterNames = DEFAULT_NAMES) -> dg.ScheduleDefinition:
    """Make the schedule, with its job.

    Args:
        server: the file of `conf/polaris/`.
        options: whether automation starts by itself.
        names: how Dagster knows the server.
    """
    job = dg.define_asset_job(
        JOB,
        selection=dg.AssetSelection.checks_for_assets(polaris_key(server, names)),
        description=f"Compares the Polaris server {server} with its file, and asks whether it is well.",
    )
    starts = options.status is dg.DefaultSensorStatus.RUNNING
    return dg.ScheduleDefinition(
        name=JOB,
        job=job,
        cron_schedule=_CRON,
        default_status=dg.DefaultScheduleStatus.RUNNING if starts else dg.DefaultScheduleStatus.STOPPED,
    )
