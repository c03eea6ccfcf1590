"""When streams are read, mirrors follow, tables are computed, released and maintained, and the audit log completed."""

from lakehouse.orchestration.automation.derived_conditions import follow_release, following, following_sensor
from lakehouse.orchestration.automation.journal_sensor import complete_log, journal_sensor, tell_dagster
from lakehouse.orchestration.automation.maintenance_sensor import upkeep_sensor
from lakehouse.orchestration.automation.mirror_sensor import mirror_due, mirror_sensor
from lakehouse.orchestration.automation.run_retention import drop_old_runs
from lakehouse.orchestration.automation.sensor_options import SensorOptions
from lakehouse.orchestration.automation.stream_sensor import lag_sensor

__all__ = [
    "SensorOptions",
    "complete_log",
    "drop_old_runs",
    "follow_release",
    "following",
    "following_sensor",
    "journal_sensor",
    "lag_sensor",
    "mirror_due",
    "mirror_sensor",
    "tell_dagster",
    "upkeep_sensor",
]
