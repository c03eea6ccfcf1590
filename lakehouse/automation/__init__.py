"""When a stream is read, a mirror follows, derived tables and releases are computed, and the audit log is completed."""

from lakehouse.automation.following import follow_release, following, following_sensor
from lakehouse.automation.journal_sensor import complete_log, journal_sensor, tell_dagster
from lakehouse.automation.mirror_sensor import mirror_sensor
from lakehouse.automation.sensor import lag_sensor

__all__ = [
    "complete_log",
    "follow_release",
    "following",
    "following_sensor",
    "journal_sensor",
    "lag_sensor",
    "mirror_sensor",
    "tell_dagster",
]
