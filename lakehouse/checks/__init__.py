"""Checks that a person can read who did not write them: without Spark, and runnable alone."""

from lakehouse.checks.mirror import mirror_checks
from lakehouse.checks.stream import stream_checks

__all__ = ["mirror_checks", "stream_checks"]
