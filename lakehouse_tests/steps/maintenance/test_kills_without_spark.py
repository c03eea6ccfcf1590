"""Kill −9 inside the operations that need no Spark: nothing is lost, and the next run says what came of it and goes on.

Guarded mechanisms: a decision is a row before anything is done; what cannot be brought back goes by one commit; files
go after it; what a look is about to delete is on record first.
"""

import json
import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlparse

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import SparkSession

from lakehouse.declarations import (
    MAINTENANCE_LOG,
    ORPHANS,
    Declarations,
    Expire,
    Maintenance,
    Manifests,
    Orphans,
    Table,
    apply,
    plan,
)
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import stage_files
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.leases.lease import Lease, leases, take_lease
from lakehouse.protocol.seals.attempt import BRANCH_PREFIX, Attempt
from lakehouse.protocol.seals.history import ancestry, head_of
from lakehouse.steps.maintenance import step
from lakehouse.steps.maintenance.measure.history import MAINTAINS
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.orphans import removal
from lakehouse.steps.maintenance.report import MaintainReport
from lakehouse.steps.maintenance.step import MaintainStep, maintain
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.children import Child, Work, work_on
from lakehouse_tests.steps.maintenance import house

pytestmark = pytest.mark.kill
POLICY = Maintenance(
    rewrite=None,
    manifests=Manifests(min_count=2),
    expire=Expire(min_snapshots_to_keep=2, max_snapshots=4, at_least=1, lease_grace=timedelta(0)),
    orphans=Orphans(delete=True),
)
STRAY = "data/00000-0-7a1e.parquet"


@dataclass(frozen=True)
class Killed:
    """Where a run is killed, and what is to be seen then.

    Args:
        point: the failpoint.
        landed: whether what was to be done has been done by then.
        result: what the next run says of it.
    """

    operation: Operation
    point: str
    landed: bool
    result: str = "failed"


FEW = [
    Killed(Operation.BRANCHES, "housekeeping.between", landed=True),
    Killed(Operation.LEASES, "maintain.decided", landed=False),
    Killed(Operation.MANIFESTS, "publish.before", landed=False),
    Killed(Operation.MANIFESTS, "publish.after", landed=True, result="done"),
    Killed(Operation.EXPIRE, "expire.between", landed=True),
    Killed(Operation.ORPHANS, "orphans.between", landed=False),
]
OTHERS = [
    Killed(Operation.LEASES, "maintain.done", landed=True),
    Killed(Operation.MANIFESTS, "stage.before", landed=False),
    Killed(Operation.MANIFESTS, "seal.after", landed=False),
    Killed(Operation.ORPHANS, "orphans.listed", landed=False),
]
KILLED = [*FEW, *(pytest.param(killed, marks=pytest.mark.soak) for killed in OTHERS)]


def _declared(lake: Lake) -> Table:
    columns = {"n": pandera.Column(T.LongType(), nullable=True), "s": pandera.Column(T.StringType(), nullable=True)}
    return Table(
        name=f"{lake.namespace}.things",
        schema=pandera.DataFrameSchema(columns),
        description="Of a test.",
        owner="tests",
        maintenance=POLICY,
    )


def _run(lake: Lake, only: Operation, run_id: str) -> MaintainReport:
    declared = _declared(lake)
    return maintain(
        MaintainStep(
            catalog=lake.catalog,
            declarations=Declarations({declared.name: declared}, {}, {}),
            table=declared,
            session=_no_spark,
            attempt=Attempt(run_id=run_id, step=f"maintain:{declared.name}"),
            only=(only,),
            allow=True,
            inform=lambda _: None,
        )
    )


def _no_spark() -> AbstractContextManager[SparkSession]:
    raise AssertionError("this operation needs no Spark")


def _to_be_killed(work: Work, _: Connection, *, only: Operation) -> None:
    def armed(name: str) -> None:
        os.environ["LAKEHOUSE_FAILPOINTS"] = work.failpoints
        failpoint(name)

    step.failpoint = armed  # from the decision on: to write that down, a table is published as well
    _run(Lake(work.settings, open_catalog(work.settings), work.namespace, None), only, "killed")


@pytest.fixture
def lake(sql_lake: Lake) -> Lake:
    """A table that is six days old and could do with everything."""
    declared = _declared(sql_lake)
    apply(plan(declared, sql_lake.catalog), sql_lake.catalog)
    with sql_lake.load(declared.name).transaction() as change:
        change.set_properties({"commit.manifest.min-count-to-merge": "100"})
    for number in range(6):
        sql_lake.write(f"s{number}", things=[number])
    base = sql_lake.bases(declared.name)[declared.name]
    uuid, begun = str(base.table.metadata.table_uuid), _six_days_ago()
    late = Lease(base.table.name(), uuid, "auditors", base.snapshot_id or 0, begun, "they are late")
    assert take_lease(sql_lake.catalog, late)
    dead = Attempt(run_id="dead", step="s", id=f"{int(begun.timestamp() * 1000):011x}{'0' * 10}")
    stage_files(sql_lake.catalog, base, dead, sql_lake.files(declared.name, [99]))
    _make_older(sql_lake.load(declared.name))
    return sql_lake


def _six_days_ago() -> datetime:
    return datetime.now(UTC) - timedelta(days=6)


def _make_older(table: IcebergTable) -> None:
    """What is written in the metadata file, and the files, become six days older."""
    path, shift = Path(urlparse(table.metadata_location).path), 6 * 86_400_000
    document = json.loads(path.read_text())
    document["last-updated-ms"] -= shift
    for key in ("snapshots", "snapshot-log", "metadata-log"):
        for entry in document[key]:
            entry["timestamp-ms"] -= shift
    path.write_text(json.dumps(document))
    folder = Path(urlparse(table.location()).path)
    (folder / STRAY).write_text("rows")
    for file in (file for file in folder.rglob("*") if file.is_file()):
        os.utime(file, (1, 1))


def _branches(lake: Lake) -> bool:
    return not any(ref.startswith(BRANCH_PREFIX) for ref in lake.load(_declared(lake).name).metadata.refs)


def _leases(lake: Lake) -> bool:
    return not leases(lake.load(_declared(lake).name))


def _manifests(lake: Lake) -> bool:
    table = lake.load(_declared(lake).name)
    snapshot = table.current_snapshot()
    return snapshot is not None and len(snapshot.manifests(table.io)) == 1


def _expire(lake: Lake) -> bool:
    table = lake.load(_declared(lake).name)
    return len(list(ancestry(table, head_of(table)))) <= 4


def _orphans(lake: Lake) -> bool:
    return not (Path(urlparse(lake.load(_declared(lake).name).location()).path) / STRAY).exists()


IS_DONE: dict[Operation, Callable[[Lake], bool]] = {
    Operation.BRANCHES: _branches,
    Operation.LEASES: _leases,
    Operation.MANIFESTS: _manifests,
    Operation.EXPIRE: _expire,
    Operation.ORPHANS: _orphans,
}


def _prepare(lake: Lake, operation: Operation) -> None:
    declared = _declared(lake)
    if operation is Operation.EXPIRE:  # whoever holds snapshots has gone
        for first in (Operation.LEASES, Operation.BRANCHES):
            _run(lake, first, "first").require_well()
    if operation is Operation.ORPHANS:  # the first of two looks was long ago
        apply(plan(ORPHANS, lake.catalog), lake.catalog)
        work = house.work_on(lake.catalog, Declarations({declared.name: declared}, {}, {}), declared.name, POLICY)
        look = removal.run(work, Action(operation=operation), now=datetime.now(UTC) - timedelta(days=8))
        assert look.effect.candidates == 1


@pytest.mark.parametrize("killed", KILLED, ids=lambda killed: f"{killed.operation}-{killed.point}")
def test_the_run_after_a_killed_one_completes_it(lake: Lake, killed: Killed) -> None:
    name, operation = _declared(lake).name, killed.operation
    _prepare(lake, operation)
    assert not IS_DONE[operation](lake)
    work = work_on(lake, "killed", {}, failpoints=f"{killed.point}=kill")
    with Child(work, partial(_to_be_killed, only=operation)) as child:
        assert child.exit_code() == -signal.SIGKILL
    assert IS_DONE[operation](lake) is killed.landed
    assert lake.rows(name) == [*range(6)]

    report = _run(lake, operation, "next")
    report.require_well()
    assert report.completed == 1
    assert _results(lake, "killed") == ["chosen", killed.result]
    assert [outcome.result for outcome in report.outcomes] == ([] if killed.landed else ["done"])
    assert IS_DONE[operation](lake)
    assert lake.rows(name) == [*range(6)]
    table = lake.load(name)
    assert not [ref for ref in table.metadata.refs if ref.startswith(MAINTAINS)]
    for snapshot in table.metadata.snapshots:  # whoever travels back finds all files
        table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
    idle = _run(lake, operation, "idle")
    assert (idle.completed, idle.outcomes) == (0, ())


def _results(lake: Lake, run_id: str) -> list[str]:
    rows = lake.catalog.load_table(MAINTENANCE_LOG.identifier).scan().to_arrow().to_pylist()
    return [row["result"] for row in sorted(rows, key=lambda row: row["at"]) if row["run_id"] == run_id]
