"""Checks that a person can read who did not write them; each can be run alone."""

from lakehouse.checks.maintenance import maintenance_checks
from lakehouse.checks.mirror import mirror_checks
from lakehouse.checks.required import required_checks
from lakehouse.checks.spark_server import spark_server, spark_server_check
from lakehouse.checks.stream import stream_checks
from lakehouse.checks.table import table_checks
from lakehouse.checks.unanswered import expect_unanswered

__all__ = [
    "expect_unanswered",
    "maintenance_checks",
    "mirror_checks",
    "required_checks",
    "spark_server",
    "spark_server_check",
    "stream_checks",
    "table_checks",
]
