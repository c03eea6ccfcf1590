"""Checks that a person can read who did not write them; each can be run alone."""

from lakehouse.orchestration.checks.maintenance.definition import maintenance_checks
from lakehouse.orchestration.checks.mirror.definition import mirror_checks
from lakehouse.orchestration.checks.required import required_checks
from lakehouse.orchestration.checks.spark_server import spark_server, spark_server_check
from lakehouse.orchestration.checks.stopped import LOADS, stopped_assets, stopped_checks, stopped_tables
from lakehouse.orchestration.checks.stream.definition import stream_checks
from lakehouse.orchestration.checks.table_checks import table_checks
from lakehouse.orchestration.checks.unanswered_check import expect_unanswered

__all__ = [
    "LOADS",
    "expect_unanswered",
    "maintenance_checks",
    "mirror_checks",
    "required_checks",
    "spark_server",
    "spark_server_check",
    "stopped_assets",
    "stopped_checks",
    "stopped_tables",
    "stream_checks",
    "table_checks",
]
