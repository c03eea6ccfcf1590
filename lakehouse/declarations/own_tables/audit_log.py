"""The audit log: one row for each event, whatever table or run it belongs to."""

from pathlib import Path

import pandera.pyspark as pa
import pyspark.sql.types as spark

from lakehouse.declarations.own_tables.upkeep import RECORD_UPKEEP
from lakehouse.declarations.table import Table

FILE = Path(__file__)  # where a declaration that has the same name is told to look
KINDS = ("commit", "run", "check", "release", "refusal", "maintenance", "gap")


class Logged(pa.DataFrameModel):  # pyright: ignore[reportMissingTypeArgument]
    """One event."""

    event_id: str = pa.Field(description="What happened, as a name: the same however often it is found")
    kind: str = pa.Field(
        isin=KINDS,
        description="commit, run, check, release, refusal, maintenance (what it deleted), or gap: what nobody can know",
    )
    at: spark.TimestampType = pa.Field(description="When it happened, by the clock of whoever did it")
    table_name: str = pa.Field(nullable=True, description="The table it happened to")
    snapshot_id: spark.LongType = pa.Field(nullable=True, description="The snapshot that it made or judged")
    outcome: str = pa.Field(description="What came of it, such as published, passed, failed, refused or success")
    severity: str = pa.Field(nullable=True, description="ERROR or WARN, where something is not as it should be")
    message: str = pa.Field(description="In words, without the value of any row")
    who: str = pa.Field(nullable=True, description="The person, sensor, schedule or command that started the run")
    run_id: str = pa.Field(nullable=True, description="Dagster run")
    root_run_id: str = pa.Field(nullable=True, description="First run of a chain of re-executions")
    step: str = pa.Field(nullable=True, description="What the run was doing")
    runtime_date: spark.DateType = pa.Field(nullable=True, description="Runtime date of the run")
    parameters_digest: str = pa.Field(nullable=True, description="Digest of the run's parameters")
    code_version: str = pa.Field(nullable=True, description="Version of the code that did it")
    details: str = pa.Field(description="More as JSON, such as the snapshots that were read")
    logged_at: spark.TimestampType = pa.Field(description="When this row was written")


AUDIT_LOG = Table(
    name="lakehouse.audit_log",
    schema=Logged,
    description="Runs, commits, checks, releases and refusals: who did what to which table, when, and by what code.",
    owner="lakehouse",
    maintenance=RECORD_UPKEEP,
)
