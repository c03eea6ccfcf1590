"""Checks that a person can read who did not write them: one op per stream, without Spark, and runnable alone."""

from lakehouse.checks.stream import stream_checks

__all__ = ["stream_checks"]
