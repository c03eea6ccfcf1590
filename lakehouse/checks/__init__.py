"""Checks that a person can read who did not write them: without Spark, and runnable alone."""

from lakehouse.checks.mirror import mirror_checks
from lakehouse.checks.required import required_checks
from lakehouse.checks.stream import stream_checks

__all__ = ["mirror_checks", "required_checks", "stream_checks"]
