"""Twins: two processes stage from the same base and are held at a barrier before they publish. One lands.

Guarded mechanisms: the requirements of a publish (`main` at base, above all) and the compare-and-swap over all tables.
Breaking either lets both twins land, or half of one.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.protocol.commit import branch_table
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import SERVER_FIRST, Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.protocol.commit.children import Child, Work
from lakehouse_tests.protocol.commit.oracle import Oracle

pytestmark = pytest.mark.slow
Rows = Mapping[str, list[int]]

ONE_TABLE: tuple[Rows, Rows] = ({"a": [10, 11]}, {"a": [20, 21]})
OVERLAPPING: tuple[Rows, Rows] = ({"a": [10, 11], "b": [10]}, {"c": [20], "b": [20, 21]})
# The long form makes a thousand on SQLite and a catalog server together, and half as many more on PostgreSQL.
APPEND_TRIALS = 3
MANY = [
    pytest.param(lake, sets, 250, id=f"{lake}-{name}-many", marks=[pytest.mark.soak, pytest.mark.timeout(3600)])
    for lake in ("sql_lake", "rest_lake", "postgres_lake")
    for name, sets in {"one-table": ONE_TABLE, "overlapping": OVERLAPPING}.items()
]
MERGE_TRIALS = 3
POSTGRES_TRIALS = 3


@pytest.mark.parametrize(
    ("lake", "sets", "trials"),
    [
        pytest.param("sql_lake", ONE_TABLE, APPEND_TRIALS, id="sql-one-table"),
        pytest.param("rest_lake", OVERLAPPING, APPEND_TRIALS, id="rest-overlapping", marks=pytest.mark.rest),
        *MANY,
    ],
    indirect=["lake"],
)
def test_of_two_appends_one_lands(lake: Lake, tmp_path: Path, sets: tuple[Rows, Rows], trials: int) -> None:
    _race_appends(lake, tmp_path, sets, trials)


def test_of_two_appends_one_lands_on_postgres(postgres_lake: Lake, tmp_path: Path) -> None:
    """All else of this folder runs on PostgreSQL in `make soak`."""
    _race_appends(postgres_lake, tmp_path, OVERLAPPING, POSTGRES_TRIALS)


def _race_appends(lake: Lake, tmp_path: Path, sets: tuple[Rows, Rows], trials: int) -> None:
    for name in "abc":
        lake.create(name)
    for trial in range(trials):  # the first trial races for the first commit of each table
        numbered = [{name: [100 * trial + n for n in numbers] for name, numbers in rows.items()} for rows in sets]
        first, other = (_work(lake, f"append {trial}", rows, merged=False, tmp_path=tmp_path) for rows in numbered)
        _race(lake, first, other, lambda _first, _other: None)


@pytest.mark.spark
@pytest.mark.parametrize(
    "sets", [pytest.param(ONE_TABLE, marks=pytest.mark.soak), OVERLAPPING], ids=["one-table", "overlapping"]
)
@pytest.mark.parametrize("lake", [*SERVER_FIRST, pytest.param("postgres_lake", marks=pytest.mark.soak)], indirect=True)
def test_of_two_merges_one_lands(lake: Lake, tmp_path: Path, sets: tuple[Rows, Rows], spark_on: SparkOn) -> None:
    for name in "abc":
        lake.create(name)
    lake.write("first", a=[10, 20], b=[10, 20], c=[10, 20])
    with spark_on(lake.settings) as spark:
        for trial in range(MERGE_TRIALS):
            first, other = (_work(lake, f"merge {trial}", rows, merged=True, tmp_path=tmp_path) for rows in sets)
            _race(lake, first, other, lambda left, right: [_merge(lake, spark, work) for work in (left, right)])


def _work(lake: Lake, step: str, rows: Rows, *, merged: bool, tmp_path: Path) -> Work:
    attempt = Attempt(run_id=f"run {min(min(numbers) for numbers in rows.values())}", step=step)
    hold = f"publish.before=hold:{_gate(tmp_path, attempt)}"
    return Work(lake.settings, lake.namespace, attempt, rows, merged=merged, failpoints=hold)


def _gate(folder: Path, attempt: Attempt) -> Path:
    return folder / attempt.step.replace(" ", "-")


def _race(lake: Lake, first: Work, other: Work, merge: Callable[[Work, Work], object]) -> None:
    oracle = Oracle.of(lake)
    before = {name: oracle.rows(name) for name in "abc"}
    gate = Path(first.failpoints.partition("hold:")[2])
    with Child(first) as left, Child(other) as right:
        for word in ("open", "staged"):
            assert (left.hear(), right.hear()) == (word, word)
            if word == "open":
                merge(first, other)
            left.go_on()
            right.go_on()
        assert {name: oracle.rows(name) for name in "abc"} == before
        gate.touch()
        ends = [left.hear(), right.hear()]
    assert sorted(ends) == ["Superseded", "published"]
    winner, loser = (first, other) if ends[0] == "published" else (other, first)
    for name in "abc":
        added = _expected(winner, winner.rows.get(name, []))
        assert oracle.rows(name) == before[name] | added
        assert oracle.attempts(name).count(winner.attempt.id) == (name in winner.rows)
        assert loser.attempt.id not in oracle.attempts(name)


def _expected(work: Work, numbers: list[int]) -> dict[int, str]:
    return {n: work.attempt.run_id if work.merged else str(n) for n in numbers}


def _merge(lake: Lake, spark: SparkSession, work: Work) -> None:
    """What both twins do to each table of theirs: change one row that is there, and add another."""
    key = "spark.sql.iceberg.snapshot-property.lakehouse.attempt"
    spark.conf.set(key, work.attempt.id)
    for name, numbers in work.rows.items():
        target = branch_table(lake.bases(f"{lake.namespace}.{name}")[f"{lake.namespace}.{name}"], work.attempt)
        values = ", ".join(f"({n}L, '{work.attempt.run_id}')" for n in numbers)
        spark.sql(
            f"MERGE INTO {target} t USING (SELECT * FROM VALUES {values} AS v(n, s)) v ON t.n = v.n "
            "WHEN MATCHED THEN UPDATE SET t.s = v.s WHEN NOT MATCHED THEN INSERT (n, s) VALUES (v.n, v.s)"
        )
    spark.conf.unset(key)
