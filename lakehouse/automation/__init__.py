"""When a stream is read: a sensor each, that looks at offsets and never at records."""

from lakehouse.automation.sensor import lag_sensor

__all__ = ["lag_sensor"]
