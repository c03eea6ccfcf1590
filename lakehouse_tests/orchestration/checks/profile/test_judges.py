"""Each distribution check passes on a right table and fails on a wrong one, tells numbers, and shows a picture."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812

from lakehouse.contracts.profile.conversion import KeyNotUnique
from lakehouse.contracts.profile.store import content_of, keep_statistics
from lakehouse.declarations import (
    STATISTICS,
    Column,
    Declarations,
    Drift,
    Expectation,
    Histogram,
    SameValues,
    SampleOf,
    Table,
    arrow_schema,
)
from lakehouse.orchestration.checks.profile.judges import distribution_judges
from lakehouse.orchestration.checks.table_question import TableCheckRun
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.writing import write_table
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.contracts.profile.samples import statistics_of, texts_of
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.fixtures.spark import SparkOn, classic_platform, settings_of

pytestmark = pytest.mark.spark

COLUMNS = (
    Column("id", T.LongType(), required=True),
    Column("size", T.DoubleType(), required=False),
    Column("name", T.StringType(), required=False),
    Column("price", T.DecimalType(10, 2), required=False),
    Column("secret", T.DecimalType(10, 2), required=False, sensitive=True),
)
ORIGINAL = (*COLUMNS[:3], Column("text", T.StringType(), required=False))
SECRET = "31415.92"
COMPACT = "CALL lake.system.rewrite_data_files(table => 'raw.things', options => map('rewrite-all', 'true'))"


def rows(count: int = 200, shift: float = 0.0, **more: Any) -> list[dict[str, Any]]:
    """Rows with sizes 0 to 39 and three names."""
    return [{"id": n, "size": n % 40 + shift, "name": "abc"[n % 3], **more} for n in range(count)]


def table(name: str, columns: Sequence[Column], *expects: Expectation) -> Table:
    return Table(name=name, schema=tuple(columns), key=("id",), description="Things.", owner="tests", expects=expects)


@dataclass
class House:
    """A lake with the tables `raw.things` and `raw.originals`, and what asks their checks."""

    lake: Lake
    open_session: Callable[[], AbstractContextManager[SparkSession]]
    instance: dg.DagsterInstance
    sessions: list[str] = field(default_factory=list[str])
    meanwhile: Callable[[], object] = lambda: None

    def write(self, data: Sequence[dict[str, Any]], name: str = "raw.things", **inputs: int) -> int:
        """Put rows in the place of those that are there; returns the snapshot."""
        self.lake.ensure([name])
        declared = self.lake.declared(name)
        filled = [{column.name: row.get(column.name) for column in declared.columns} for row in data]
        given = pa.Table.from_pylist(filled, schema=arrow_schema(declared))
        attempt = Attempt(run_id="run", step=f"write:{name}")
        read = {f"raw.{table}": snapshot for table, snapshot in inputs.items()}
        return write_table(self.lake.catalog, declared, attempt, given, mode="overwrite", inputs=read).snapshot_id

    def remember(self, data: Sequence[dict[str, Any]]) -> None:
        """Keep what a check would have measured, without Spark."""
        loaded = self.lake.catalog.load_table(("raw", "things"))
        snapshot = loaded.current_snapshot()
        content = content_of(loaded, snapshot.snapshot_id if snapshot else None)
        assert content
        profiles = {
            "size": statistics_of([row["size"] for row in data]),
            "name": texts_of([row["name"] for row in data]),
        }
        keep_statistics(self.lake.catalog, loaded, content, profiles, run_id="earlier")

    @contextmanager
    def session(self) -> Iterator[SparkSession]:
        self.sessions.append("asked")
        self.meanwhile()
        with self.open_session() as spark:
            yield spark

    def ask(self) -> dict[str, dg.AssetCheckResult]:
        """Answer all distribution checks of `raw.things`, as one op does."""
        declared = self.lake.declared("raw.things")
        asked = TableCheckRun(self.lake, declared, self.session, self.instance, lambda _: None, "run")
        results = [judge.answer(asked) for judge in distribution_judges(declared, self.lake.declarations)]
        for result in results:
            assert result.severity is dg.AssetCheckSeverity.WARN
            assert text(result, "snapshot id") == str(asked.pinned.snapshot_id or "none")
        return {str(result.check_name): result for result in results}


def text(result: dg.AssetCheckResult, name: str) -> str:
    return str(result.metadata[name].value)


def number(result: dg.AssetCheckResult, name: str) -> float:
    value = result.metadata[name].value
    assert isinstance(value, int | float)
    return value


def everything(result: dg.AssetCheckResult) -> str:
    return f"{result.description} " + " ".join(str(value.value) for value in result.metadata.values())


def has_picture(result: dg.AssetCheckResult) -> bool:
    plot = result.metadata.get("plot")
    return plot is not None and len(str(plot.value)) < 40_000 and "](data:image/png;base64," in str(plot.value)


MakeHouse = Callable[..., House]


@pytest.fixture
def house(tmp_path: Path, jars: Path, spark_on: SparkOn) -> MakeHouse:
    """`house(*expects)`: `raw.things` expects these."""
    catalog = sql_settings(tmp_path)
    settings = settings_of(tmp_path / "state", jars, classic_platform(), catalog)

    def make(*expects: Expectation) -> House:
        declared = (table("raw.things", COLUMNS, *expects), table("raw.originals", ORIGINAL), STATISTICS)
        declarations = Declarations({table.name: table for table in declared}, {}, {})
        return House(Lake(settings, declarations), lambda: spark_on(catalog), dg.DagsterInstance.ephemeral())

    return make


def test_no_check_blocks_and_each_says_that_it_warns(house: MakeHouse) -> None:
    made = house(
        Drift(column="size"),
        SampleOf(column="size", table="raw.originals"),
        SameValues(column="price", table="raw.originals", to="text"),
        Histogram(column="size", most_missing=0.1),
    )
    judges = distribution_judges(made.lake.declared("raw.things"), made.lake.declarations)
    assert [judge.name for judge in judges] == ["drift_size", "sample_size", "same_values_price", "histogram_size"]
    assert not any(judge.blocking for judge in judges)
    assert all(re.search("[Ww]arn", judge.description) for judge in judges)


def test_a_histogram_counts_and_judges_what_is_declared(house: MakeHouse) -> None:
    made = house(Histogram(column="size", unit="m", most_missing=0.01, most_outliers=0.01))
    made.write(rows())
    right = made.ask()["histogram_size"]
    assert right.passed
    assert has_picture(right)
    assert (number(right, "rows"), number(right, "missing"), number(right, "outliers")) == (200, 0, 0)
    made.write([*rows(), *({"id": 1000 + n, "size": 1e6 if n else None} for n in range(10))])
    wrong = made.ask()["histogram_size"]
    assert not wrong.passed
    assert has_picture(wrong)
    assert (number(wrong, "missing"), number(wrong, "outliers")) == (1, 9)
    assert "4.31% outliers, 1.00% are allowed" in str(wrong.description)
    assert "missing, 1.00%" not in str(wrong.description)


def test_drift_is_judged_by_what_earlier_checks_have_kept(house: MakeHouse) -> None:
    made = house(Drift(column="size"), Drift(column="name", history=6))
    made.write(rows())
    early = made.ask()
    assert all(result.passed and has_picture(result) for result in early.values())
    assert "Too little to judge size: 0 earlier snapshots" in str(early["drift_size"].description)
    assert number(early["drift_size"], "earlier snapshots") == 0
    for n in range(1, 5):
        made.write(rows(200 + n))
        made.remember(rows(200 + n))
    made.write(rows(207))
    assert all(
        result.passed and "as it was in the last 5 snapshots" in str(result.description)
        for result in made.ask().values()
    )
    made.write(rows(210, shift=20, name="z"))
    made.instance = dg.DagsterInstance.ephemeral()  # Dagster's database was thrown away
    wrong = made.ask()
    assert not any(result.passed for result in wrong.values())
    assert all(map(has_picture, wrong.values()))
    assert "median is 38" in str(wrong["drift_size"].description)
    assert number(wrong["drift_size"], "median, highest usual") < 38
    assert "z: 100.0% against 0.0%" in str(wrong["drift_name"].description)


def test_a_snapshot_is_measured_once_for_all_checks_and_never_again(house: MakeHouse) -> None:
    made = house(Drift(column="size"), Histogram(column="size"), Drift(column="name"))
    made.write(rows())
    made.ask()
    assert len(made.sessions) == 1
    assert len(made.lake.catalog.load_table(STATISTICS.identifier).scan().to_arrow()) == 2
    with made.open_session() as spark:
        spark.sql(COMPACT).collect()
    again = made.ask()
    assert len(made.sessions) == 1, "what was measured is known, and the same rows in other files are the same"
    assert {text(result, "statistics") for result in again.values()} == {"kept from an earlier check"}
    assert len(made.lake.catalog.load_table(STATISTICS.identifier).scan().to_arrow()) == 2


def test_rows_that_land_meanwhile_are_not_measured(house: MakeHouse) -> None:
    """Spark looks a table up anew on every action; a check names one snapshot, and judges that."""
    made = house(Histogram(column="size"), SameValues(column="size", table="raw.originals"))
    made.write(rows(), "raw.originals")
    made.write(rows())
    made.meanwhile = lambda: made.write(rows(3, shift=7))
    results = made.ask()
    assert number(results["histogram_size"], "rows") == 200
    assert number(results["same_values_size"], "rows") == 200


def test_a_sample_is_compared_with_what_it_was_drawn_from(house: MakeHouse) -> None:
    made = house(SampleOf(column="size", table="raw.originals"), SampleOf(column="name", table="raw.originals"))
    source = made.write(rows(1000), "raw.originals")
    made.write(rows(500), originals=source)
    right = made.ask()
    assert all(result.passed and has_picture(result) for result in right.values())
    assert number(right["sample_size"], "distance") < 0.03
    made.write([row for row in rows(1000) if row["size"] < 20 and row["name"] != "a"], originals=source)
    wrong = made.ask()
    assert not any(result.passed for result in wrong.values())
    assert all(map(has_picture, wrong.values()))
    assert number(wrong["sample_size"], "distance") == pytest.approx(0.5, abs=0.03)
    assert "a: 0.0% against 33.4%" in str(wrong["sample_name"].description)
    assert text(wrong["sample_size"], "other snapshot id") == str(source)


def test_the_other_table_is_taken_as_it_was_read(house: MakeHouse) -> None:
    """The original moved on: that is no skew of what was computed from it before."""
    made = house(
        SampleOf(column="size", table="raw.originals"),
        SameValues(column="size", table="raw.originals"),
    )
    source = made.write(rows(), "raw.originals")
    made.write(rows(), originals=source)
    made.write(rows(shift=1000), "raw.originals")
    assert all(result.passed for result in made.ask().values())
    made.write(rows())  # the seal names no input: compared with what is there now
    assert not any(result.passed for result in made.ask().values())


def test_a_conversion_that_changed_values_is_found(house: MakeHouse) -> None:
    made = house(
        SameValues(column="price", table="raw.originals", to="text"), SameValues(column="name", table="raw.originals")
    )
    made.write(rows(text="1.5"), "raw.originals")
    made.write(rows(price=Decimal("1.50")))
    right = made.ask()
    assert all(result.passed and has_picture(result) for result in right.values())
    assert len(made.sessions) == 1, "both columns in one job"
    made.write(
        [
            *rows(198, price=Decimal("1.50")),
            *({"id": n, "name": "abc"[n % 3], "price": Decimal("1.51")} for n in (198, 199)),
        ]
    )
    wrong = made.ask()["same_values_price"]
    assert not wrong.passed
    assert has_picture(wrong)
    assert (number(wrong, "rows compared"), number(wrong, "changed"), number(wrong, "null now")) == (200, 2, 0)
    assert "1.51" in str(wrong.metadata["examples"].value)


def test_a_sensitive_conversion_is_counted_and_not_shown(house: MakeHouse) -> None:
    made = house(SameValues(column="secret", table="raw.originals", to="text"))
    made.write(rows(text=SECRET), "raw.originals")
    made.write(rows(secret=Decimal("27182.81")))
    wrong = made.ask()["same_values_secret"]
    assert not wrong.passed
    assert number(wrong, "changed") == 200
    assert SECRET not in everything(wrong)
    assert "27182.81" not in everything(wrong)
    assert "examples" not in wrong.metadata


def test_rows_that_match_nothing_are_no_proof(house: MakeHouse) -> None:
    made = house(SameValues(column="size", table="raw.originals"))
    made.write([{"id": -1, "size": 1.0}], "raw.originals")
    made.write(rows())
    result = made.ask()["same_values_size"]
    assert not result.passed
    assert "nothing was compared" in str(result.description)


def test_what_cannot_be_told_is_an_error_and_no_verdict(house: MakeHouse) -> None:
    made = house(SameValues(column="size", table="raw.originals"))
    made.write([*rows(5), *rows(5)], "raw.originals")
    made.write(rows())
    with pytest.raises(KeyNotUnique):
        made.ask()


def test_tables_without_rows_have_nothing_to_judge(house: MakeHouse) -> None:
    made = house(
        Drift(column="size"),
        SampleOf(column="size", table="raw.originals"),
        SameValues(column="price", table="raw.originals", to="text"),
        Histogram(column="size", most_missing=0.0),
    )
    made.lake.ensure(["raw.things", "raw.originals"])
    for result in made.ask().values():
        assert result.passed
        assert "nothing to" in str(result.description) or "no rows" in str(result.description)
    assert not made.sessions


def test_values_on_one_side_alone_are_as_far_apart_as_can_be(house: MakeHouse) -> None:
    made = house(SampleOf(column="size", table="raw.originals"))
    made.write(rows(), "raw.originals")
    made.write([{"id": 1}, {"id": 2}])
    result = made.ask()["sample_size"]
    assert not result.passed
    assert number(result, "distance") == 1.0
    assert has_picture(result)
