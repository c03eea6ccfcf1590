"""What maintenance remembers: every decision with what came of it, and files that no snapshot knew when it looked."""

from pathlib import Path

import pandera.pyspark as pa
import pyspark.sql.types as spark

from lakehouse.declarations.own_tables.upkeep import DECISIONS_UPKEEP, RECORD_UPKEEP
from lakehouse.declarations.table import Table

MAINTENANCE_FILE = Path(__file__)  # where a declaration that has the same name is told to look
PHASES = ("decided", "finished")
RESULTS = (
    "chosen",
    "nothing",
    "withheld",
    "blocked",
    "excluded",
    "done",
    "proof_failed",
    "overtaken",
    "failed",
    "dry_run",
)
ORPHAN_EVENTS = ("candidate", "reprieved", "deleted")


class Decided(pa.DataFrameModel):  # pyright: ignore[reportMissingTypeArgument]
    """One action, as it was decided or as it ended."""

    row_id: str = pa.Field(description="What was told, as a name: the same however often it is told")
    phase: str = pa.Field(isin=PHASES, description="decided, before anything is done, or finished")
    at: spark.TimestampType = pa.Field(description="When the table was measured, or the action had ended")
    table_name: str = pa.Field(description="Table that it is about")
    table_uuid: str = pa.Field(description="Which table of that name, should it be made anew")
    snapshot_id: spark.LongType = pa.Field(nullable=True, description="Snapshot that was measured, or that came of it")
    metadata_file: str = pa.Field(description="Name of the metadata file that was measured")
    run_id: str = pa.Field(nullable=True, description="Dagster run, where one decided or worked")
    attempt: str = pa.Field(nullable=True, description="Attempt that works, as its snapshots name it")
    operation: str = pa.Field(description="What: rewrite, manifests, expire and so on, or nothing")
    partitions: str = pa.Field(description="Where, JSON list of partitions; none for the table as a whole")
    partition_keys: str = pa.Field(description="The same as keys that show no value, JSON list")
    reasons: str = pa.Field(description="Why, or why not, JSON list of sentences")
    blocked_by: str = pa.Field(description="Who stands in the way, JSON list")
    withheld: str = pa.Field(description="What else was looked at and not done, JSON list of operation and reasons")
    result: str = pa.Field(isin=RESULTS, description="What was decided, or what came of it")
    message: str = pa.Field(nullable=True, description="What came of it, in words, without the value of any row")
    health: spark.DoubleType = pa.Field(nullable=True, description="0 to 100, in rows of earlier releases")
    state: str = pa.Field(description="What was measured, JSON")
    policy: str = pa.Field(description="What the table's declaration asks for, JSON")
    predicted: str = pa.Field(nullable=True, description="What was expected of it, JSON, in rows of earlier releases")
    measured: str = pa.Field(nullable=True, description="Before and after it, JSON")
    valid_until: spark.TimestampType = pa.Field(
        nullable=True, description="Until when this stands for a table whose metadata file is the same"
    )


class Orphan(pa.DataFrameModel):  # pyright: ignore[reportMissingTypeArgument]
    """One file in one look."""

    look_id: str = pa.Field(description="The look at a table's files")
    at: spark.TimestampType = pa.Field(description="When the files were listed")
    table_name: str = pa.Field(description="Table whose location was listed")
    table_uuid: str = pa.Field(description="Which table of that name")
    path: str = pa.Field(description="The file; *** in the place of a sensitive partition value")
    bytes: spark.LongType = pa.Field(description="Its size")
    modified_at: spark.TimestampType = pa.Field(description="When it was last written")
    event: str = pa.Field(isin=ORPHAN_EVENTS, description="candidate, reprieved (something knows it again) or deleted")
    longest_run_s: spark.DoubleType = pa.Field(description="Longest run that was known then, in seconds")


MAINTENANCE_LOG = Table(
    name="lakehouse.maintenance",
    schema=Decided,
    description="Decisions of maintenance, with their reasons, and what came of them.",
    owner="lakehouse",
    key=("row_id",),
    maintenance=DECISIONS_UPKEEP,
)
ORPHANS = Table(
    name="lakehouse.orphans",
    schema=Orphan,
    description="Files that no snapshot knew in a look at a table's location, and those that were deleted.",
    owner="lakehouse",
    maintenance=RECORD_UPKEEP,
)
