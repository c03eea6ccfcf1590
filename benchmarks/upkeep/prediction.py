"""What a plan predicts for a table of many small files and commits, and what then happens."""

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
from lakehouse.steps.maintenance.model.action import ActionOutcome, MaintenancePlan, Predicted, fewer
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
class Foreseen:
    """One operation, as it was predicted and as it came."""

    operation: str
    files_removed: int
    files_removed_predicted: int
    seconds: float
    seconds_predicted: float
    plan_ms_predicted: float
    commit_ms_predicted: float


@dataclass(frozen=True)
class Prediction:
    """Before, after, and what each operation was expected to bring."""

    before: Size
    after: Size
    operations: tuple[Foreseen, ...]
    nothing_because: tuple[str, ...]

    @property
    def factors(self) -> dict[str, float]:
        """How far the plan's sums are from what happened: the larger over the smaller."""
        told = self.operations
        gone = {
            "files removed": (
                sum(one.files_removed_predicted for one in told),
                sum(one.files_removed for one in told),
            ),
            "planning saved": (
                sum(one.plan_ms_predicted for one in told),
                self.before.plan_ms - self.after.plan_ms,
            ),
            "commit saved": (
                sum(one.commit_ms_predicted for one in told),
                self.before.commit_ms - self.after.commit_ms,
            ),
            "seconds": (sum(one.seconds_predicted for one in told), sum(one.seconds for one in told)),
        }
        return {what: round(_factor(*pair), 2) for what, pair in gone.items()}

    def to_dict(self) -> dict[str, object]:
        """For the file with the results."""
        return {**asdict(self), "factors": self.factors}


def predict(catalog: LakeCatalog, session: Session, *, files: int, commits: int) -> Prediction:
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
    told: list[Foreseen] = []
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
        assert report.found is not None
        if report.found.plan.nothing:
            break
        told += [_foreseen(report.found.plan, outcome) for outcome in report.outcomes]
    else:
        raise RuntimeError(f"{NAME} was never found healthy: {_why(report.found)}")
    return Prediction(before, measure_size(catalog), tuple(told), _why(report.found))


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


def _foreseen(plan: MaintenancePlan, outcome: ActionOutcome) -> Foreseen:
    expected = next((a.predicted for a in plan.actions if a.operation is outcome.action.operation), Predicted())
    after = outcome.after or outcome.before
    return Foreseen(
        operation=outcome.action.operation.value,
        files_removed=fewer(outcome.action.operation, outcome.before, after),
        files_removed_predicted=expected.files_removed,
        seconds=round(after.seconds, 2),
        seconds_predicted=expected.seconds,
        plan_ms_predicted=expected.plan_ms,
        commit_ms_predicted=expected.commit_ms,
    )


def _why(found: Surveyed | None) -> tuple[str, ...]:
    return tuple(reason for action in found.plan.actions for reason in action.reasons) if found is not None else ()


def _load(catalog: LakeCatalog) -> IcebergTable:
    return catalog.load_table(tuple(NAME.split(".")))


def _factor(expected: float, came: float) -> float:
    small, large = sorted((max(expected, 0.001), max(came, 0.001)))
    return large / small


def _milliseconds(ask: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - began) * 1000)
    return round(statistics.median(taken), 1)
