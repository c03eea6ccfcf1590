"""The table that is looked after: events of about 30 bytes each, and what operations on it are given."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pandera.pyspark as pandera
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from lakehouse.declarations import Declarations, Maintenance, Table, apply, plan
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import open_branch, publish, seal_branch
from lakehouse.protocol.commit.frames import stage_frame
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.maintenance.model.action import MaintenanceWork
from lakehouse.steps.maintenance.model.state import MeasuredState

Session = Callable[[], AbstractContextManager[SparkSession]]
NEVER_QUIET = timedelta(0)

_SCHEMA = pandera.DataFrameSchema(
    {
        "id": pandera.Column(t.LongType(), nullable=False),
        "at": pandera.Column(t.TimestampType(), nullable=False),
        "account": pandera.Column(t.StringType(), nullable=False),
        "country": pandera.Column(t.StringType(), nullable=False),
        "amount": pandera.Column(t.DoubleType(), nullable=True),
        "note": pandera.Column(t.StringType(), nullable=True),
    }
)
_BYTES_PER_ROW = 30


def events(name: str, maintenance: Maintenance, **more: object) -> Table:
    """Declare a table of events."""
    declared = Table(
        name=name, schema=_SCHEMA, description="Events of the benchmark.", owner="benchmark", maintenance=maintenance
    )
    return replace(declared, **more)


def create(catalog: LakeCatalog, table: Table) -> None:
    """Make it, with no entry ever trimmed: what there is to expire is all there."""
    apply(plan(table, catalog), catalog)
    kept = {"lakehouse.publish.keep-snapshots": "100000"}
    catalog.load_table(table.identifier).transaction().set_properties(kept).commit_transaction()


def frame(spark: SparkSession, rows: int, files: int) -> DataFrame:
    """Rows whose values compress no better than real ones, in so many tasks."""
    return spark.range(0, rows, 1, files).selectExpr(
        "id",
        "timestamp_micros(1767225600000000 + id * 37000 + CAST(pmod(xxhash64(id), 1000000) AS LONG)) AS at",
        "concat('a-', lpad(CAST(pmod(xxhash64(id, 1), 100000) AS STRING), 6, '0')) AS account",
        "element_at(array('lisbon', 'berlin', 'dublin', 'vienna'), CAST(pmod(xxhash64(id, 2), 4) + 1 AS INT)) "
        "AS country",
        "pmod(xxhash64(id, 3), 5000000) / 100.0D AS amount",
        "substr(md5(CAST(id AS STRING)), 1, 32) AS note",
    )


def rows_in(megabytes: int) -> int:
    """About so many rows."""
    return megabytes * 1_000_000 // _BYTES_PER_ROW


def append(catalog: LakeCatalog, name: str, rows: DataFrame) -> None:
    """A step that appends a frame."""
    base, attempt = read_bases(catalog, [name])[name], Attempt(run_id="fill", step=f"write:{name}")
    open_branch(catalog, base, attempt)
    stage_frame(rows, base, attempt)
    previous = base.sealed.seal if base.sealed else None
    publish(catalog, [seal_branch(catalog, base, attempt, Seal.of(attempt, "write", statement={}, previous=previous))])


def work(
    catalog: LakeCatalog, table: Table, session: Session, *, state: MeasuredState | None = None
) -> MaintenanceWork:
    """What an operation is given."""
    base = read_bases(catalog, [table.name])[table.name]
    return MaintenanceWork(
        catalog=catalog,
        declarations=Declarations({table.name: table}, {}, {}),
        declared=table,
        base=base,
        state=state or MeasuredState(table=table.name, uuid=base.uuid, measured_at=datetime.now(UTC)),
        policy=table.maintenance,
        attempt=Attempt(run_id="upkeep", step=f"maintain:{table.name}"),
        session=session,
        inform=lambda _: None,
        allow=True,
    )
