"""A table of many small files and commits that nobody has looked after: before, and when nothing is due any more."""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.table import Table as IcebergTable

from benchmarks.upkeep.events import Session, create, events
from lakehouse.declarations import Declarations, Expire, Maintenance, Rewrite
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import publish, seal_branch, stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.maintenance.model.action import ActionOutcome, Operation
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.step import MaintainStep, maintain
from lakehouse.steps.maintenance.survey import Surveyed

NAME = "bench.small"
POLICY = Maintenance(
    rewrite=Rewrite(quiet_for=timedelta(0)),
    expire=Expire(max_snapshot_age=timedelta(milliseconds=1), min_snapshots_to_keep=2, max_snapshots=50, at_least=10),
    orphans=None,
)
_TIMES = 9
_MOST_ROUNDS = 8


@dataclass(frozen=True)
class Size:
    """A table as a reader and a writer meet it.

    Args:
        files: data files.
        manifests: that a scan reads.
        snapshots: entries of the document.
        plan_ms: to plan a scan of everything, anew each time.
        commit_ms: to stage, seal and publish one row.
    """

    files: int
    manifests: int
    snapshots: int
    plan_ms: float
    commit_ms: float


@dataclass(frozen=True)
class Done:
    """One operation.

    Args:
        removed: files fewer; of an expiry, snapshots.
    """

    operation: str
    removed: int
    seconds: float


@dataclass(frozen=True)
class Upkeep:
    """Before, after, and what was done in between."""

    before: Size
    after: Size
    operations: tuple[Done, ...]
    nothing_because: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """For the file with the results."""
        return asdict(self)


def look_after(catalog: LakeCatalog, session: Session, *, files: int, commits: int) -> Upkeep:
    """Make the table, let it be maintained until there is nothing to do, and compare.

    Args:
        catalog: an empty one.
        session: opens Spark.
        files: that the table has before.
        commits: that it took, a seal each.
    """
    table = events(NAME, POLICY)
    declarations = Declarations({NAME: table}, {}, {})
    create(catalog, table)
    _fill(catalog, files, commits)
    before = measure_size(catalog)
    operations: list[Done] = []
    for number in range(_MOST_ROUNDS):
        report = maintain(
            MaintainStep(
                catalog=catalog,
                declarations=declarations,
                table=table,
                session=session,
                attempt=Attempt(run_id=f"upkeep-{number}", step=f"maintain:{NAME}"),
                budget=Budget(),
                allow=True,
                inform=lambda _: None,
            )
        )
        report.require_well()
        assert report.surveyed is not None
        if report.surveyed.plan.nothing:
            break
        operations += [_done(outcome) for outcome in report.outcomes]
    else:
        raise RuntimeError(f"{NAME} was never found healthy: {_why(report.surveyed)}")
    return Upkeep(before, measure_size(catalog), tuple(operations), _why(report.surveyed))


def measure_size(catalog: LakeCatalog) -> Size:
    """How large it is, and how long it takes to plan a scan and to commit."""
    plan_ms = _milliseconds(lambda: list(_load(catalog).scan().plan_files()))
    commit_ms = _milliseconds(lambda: _commit(catalog, 1, "probe"))
    table = _load(catalog)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return Size(
        files=len(list(table.scan().plan_files())),
        manifests=len(snapshot.manifests(table.io)),
        snapshots=len(table.metadata.snapshots),
        plan_ms=plan_ms,
        commit_ms=commit_ms,
    )


def _fill(catalog: LakeCatalog, files: int, commits: int) -> None:
    for number in range(commits):
        _commit(catalog, files * (number + 1) // commits - files * number // commits, f"fill-{number}")


def _commit(catalog: LakeCatalog, files: int, run_id: str) -> None:
    base, attempt = read_bases(catalog, [NAME])[NAME], Attempt(run_id=run_id, step="write:small")
    written = [file for number in range(files) for file in _file(base.table, number)]
    stage_files(catalog, base, attempt, written)
    seal = Seal.of(attempt, "write", statement={}, previous=base.sealed.seal if base.sealed else None)
    publish(catalog, [seal_branch(catalog, base, attempt, seal)])


def _file(table: IcebergTable, number: int) -> list[object]:
    rows = pa.table(
        {
            "id": pa.array(range(100 * number, 100 * number + 100), pa.int64()),
            "at": pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * 100, pa.timestamp("us", "UTC")),
            "account": [f"a-{number}"] * 100,
            "country": ["lisbon"] * 100,
            "amount": pa.array([float(n) for n in range(100)]),
            "note": [f"{number}-{n}" for n in range(100)],
        }
    ).cast(table.schema().as_arrow())
    return list(_dataframe_to_data_files(table.metadata, rows, table.io))


def _done(outcome: ActionOutcome) -> Done:
    before, after = outcome.before, outcome.after or outcome.before
    snapshots = outcome.action.operation is Operation.EXPIRE
    return Done(
        operation=outcome.action.operation.value,
        removed=before.snapshots - after.snapshots if snapshots else before.files - after.files,
        seconds=round(after.seconds, 2),
    )


def _why(surveyed: Surveyed | None) -> tuple[str, ...]:
    return (
        tuple(reason for action in surveyed.plan.actions for reason in action.reasons) if surveyed is not None else ()
    )


def _load(catalog: LakeCatalog) -> IcebergTable:
    return catalog.load_table(tuple(NAME.split(".")))


def _milliseconds(ask: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(taken), 1)
