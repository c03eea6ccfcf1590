"""Drivers in processes of their own, one for a step: submitted, found again, ended."""

from lakehouse.engines.submit.driver_job import DriverJob, LaunchToken, driver_job, end_abandoned
from lakehouse.engines.submit.spark_submit import submitted

__all__ = ["DriverJob", "LaunchToken", "driver_job", "end_abandoned", "submitted"]
