"""Checks that read no data file, timed on a table of many commits of ours."""

import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date

import pandera.pyspark as pandera
import pyarrow as pa
from pandera.api.checks import Check
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from lakehouse.contracts.rules.stored import judge_snapshot
from lakehouse.declarations import Derived, Rows, Table, apply, plan
from lakehouse.orchestration.resources.fit_to_schema import fitted
from lakehouse.orchestration.resources.staging import stage_arrow
from lakehouse.proofs.lineage.dates import check_dates
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.settings import Settings
from lakehouse.steps.derived.statement import KIND, DeriveStatement

_TIMES = 7
_DAY = date(2013, 5, 1)

TABLE = Table(
    name="bench.commits",
    schema=pandera.DataFrameSchema(
        {
            "id": pandera.Column(t.LongType(), Check.ge(0), nullable=False),
            "month": pandera.Column(t.IntegerType(), Check.in_range(1, 12), nullable=False),
            "code": pandera.Column(t.StringType(), Check.str_startswith("N"), nullable=True),
            "runtime_date": pandera.Column(t.DateType(), nullable=False),
        }
    ),
    description="Many small commits.",
    owner="benchmark",
    runtime_date_column="runtime_date",
    write_mode="append",
    expects=(Rows(least=1),),
)


def _compute(rows: DataFrame) -> DataFrame:
    return rows


DERIVED = Derived(table=TABLE, inputs={"rows": "bench.rows"}, compute=_compute, mode="incremental", follows="rows")


def zero_scan(settings: Settings, commits: int) -> dict[str, float]:
    """What is timed → milliseconds, the median of several times.

    Args:
        settings: of the lab.
        commits: how many the table has.
    """
    catalog = open_catalog(settings.catalog)
    apply(plan(TABLE, catalog), catalog)
    # None of its commits is forgotten, which publishing would do after the fiftieth.
    kept = {"lakehouse.publish.keep-snapshots": str(4 * commits)}
    catalog.load_table(TABLE.identifier).transaction().set_properties(kept).commit_transaction()
    before = head = 0
    for number in range(commits):
        rows = pa.table(
            {
                "id": pa.array([number], pa.int64()),
                "month": pa.array([1 + number % 12], pa.int32()),
                "code": [f"N{number}"],
                "runtime_date": [_DAY],
            }
        )
        before, head = head, _commit(catalog, rows, number)
    table = catalog.load_table(TABLE.identifier)
    timed: dict[str, Callable[[], bool]] = {
        "load the table": lambda: bool(catalog.load_table(TABLE.identifier)),
        "contract rules": lambda: not judge_snapshot(TABLE, table, head, _no_session).broken,
        "contract rules of the last commit": lambda: (
            not judge_snapshot(TABLE, table, head, _no_session, since=before).broken
        ),
        "runtime date": lambda: check_dates(table, head, DERIVED).passed,
    }
    return {what: _milliseconds(ask) for what, ask in timed.items()}


def _commit(catalog: LakeCatalog, rows: pa.Table, number: int) -> int:
    """What a step of a derived table commits: rows and a seal."""
    attempt = Attempt(run_id=f"run-{number}", step="derive:commits", runtime_date=_DAY.isoformat())
    base = read_bases(catalog, [TABLE.name])[TABLE.name]
    fitting = fitted(TABLE.name, rows, schema_to_pyarrow(base.table.schema(), include_field_ids=False))
    stage_arrow(catalog, fitting, base, attempt, replacing=False)
    statement = DeriveStatement("incremental", added=1, total=number + 1).to_keys()
    seal = Seal.of(attempt, KIND, statement=statement, previous=base.sealed.seal if base.sealed else None)
    return publish(catalog, [seal_branch(catalog, base, attempt, seal)]).snapshots[TABLE.name]


def _no_session() -> AbstractContextManager[SparkSession]:
    raise AssertionError("a check without a scan asked for Spark")


def _milliseconds(ask: Callable[[], bool]) -> float:
    taken: list[float] = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        assert ask(), "the check should pass"
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)
