"""When a stream is read and a mirror follows: a sensor each, that looks at positions and never at records."""

from lakehouse.automation.mirror_sensor import mirror_sensor
from lakehouse.automation.sensor import lag_sensor

__all__ = ["lag_sensor", "mirror_sensor"]
