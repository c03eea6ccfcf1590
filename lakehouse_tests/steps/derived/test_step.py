"""One step of a derived table: what comes out, what its seal says, and how it ends where it does not go ahead."""

from dataclasses import replace
from datetime import date
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyspark.errors import ParseException
from pyspark.sql import DataFrame

from lakehouse.declarations.columns.error import DoesNotFit
from lakehouse.errors import LakehouseError
from lakehouse.protocol.errors import Superseded
from lakehouse.settings import Parameters, value_digests
from lakehouse.steps.derived.refusals import ComputedOtherwise, ContractBroken, NotAFrame
from lakehouse.steps.derived.step import derive
from lakehouse_tests.steps.derived.workshop import DAY, TOTALS, Workshop, total

pytestmark = pytest.mark.spark


def test_a_function_is_computed_at_the_pinned_snapshots_and_its_seal_says_from_what(workshop: Workshop) -> None:
    derived = workshop.derived("totals")
    report = workshop.run(derived)
    assert workshop.rows("totals") == [("Bonn", 4), ("Kiel", 3)]
    assert workshop.rows("totals", "runtime_date") == [(date(2013, 5, 14),)] * 2
    seal, statement = workshop.newest_seal("totals")
    sales = workshop.name("sales")
    assert (seal.kind, seal.runtime_date, dict(seal.inputs)) == ("derive", DAY, {sales: workshop.head("sales")})
    assert (statement.mode, statement.added, statement.total, statement.partition) == ("full", 2, 2, ())
    assert statement.declared == {"sales": sales}
    assert statement.scanned == {sales: workshop.head("sales")}
    assert statement.dates == {sales: ""}
    assert statement.column_lineage == {"shop": ((sales, "shop"),), "total": ((sales, "amount"),)}
    assert report.statement == statement
    assert report.snapshot_id == workshop.head("totals")
    assert workshop.branches("totals") == []


def test_a_sql_text_sees_its_inputs_by_name_and_the_runs_values(workshop: Workshop) -> None:
    derived = workshop.derived(
        "large",
        {**TOTALS, "day": T.DateType()},
        "SELECT shop, amount AS total, :runtime_date AS day FROM sales WHERE amount >= :least;  ",
    )
    parameters = {"least": 2, "unused": "x"}
    report = workshop.run(derived, parameters=parameters)
    assert report.statement.computed_by[-1].used == {"least": value_digests(parameters)["least"]}
    assert workshop.rows("large", "shop", "total", "day") == [
        ("Bonn", 4, date(2013, 5, 14)),
        ("Kiel", 2, date(2013, 5, 14)),
    ]


def test_a_sql_text_that_is_no_query_does_nothing(workshop: Workshop) -> None:
    derived = workshop.derived("dropped", compute=f"DROP TABLE lake.{workshop.name('sales')}")
    with pytest.raises(ParseException):
        workshop.run(derived)
    assert workshop.rows("sales", "id") == [(0,), (1,), (2,)]
    assert workshop.head("dropped") is None


def test_a_step_reads_what_was_pinned_whatever_is_written_meanwhile(workshop: Workshop) -> None:
    def late(sales: DataFrame) -> DataFrame:
        workshop.sell(("Kiel", 100))
        return total(sales)

    workshop.run(workshop.derived("totals", compute=late))
    assert workshop.rows("totals") == [("Bonn", 4), ("Kiel", 3)]
    second = workshop.derived("again")
    workshop.run(second)
    assert workshop.rows("again") == [("Bonn", 4), ("Kiel", 3)], "of the same run"
    workshop.run(second, run="next run")
    assert workshop.rows("again") == [("Bonn", 4), ("Kiel", 103)]


def test_the_same_again_is_computed_and_said(workshop: Workshop) -> None:
    derived = workshop.derived("totals")
    assert not workshop.run(derived).notes
    again = workshop.run(derived)
    assert workshop.rows("totals") == [("Bonn", 4), ("Kiel", 3)]
    assert again.notes == ("inputs, date, parameters and code are those of run run: computed again, as asked",)
    assert not workshop.run(derived, day="2013-05-15").notes


def test_derived_from_derived_and_dates_that_came_along_are_the_runs_own(workshop: Workshop) -> None:
    workshop.run(workshop.derived("totals"))
    derived = workshop.derived("copy", compute="SELECT * FROM totals", inputs={"totals": "totals"})
    workshop.run(derived)
    assert workshop.rows("copy", "shop", "runtime_date") == [(s, date(2013, 5, 14)) for s in ("Bonn", "Kiel")]
    assert workshop.newest_seal("copy")[1].dates == {workshop.name("totals"): DAY}


def test_a_backfill_says_why_in_its_seal(workshop: Workshop) -> None:
    workshop.run(workshop.derived("totals"), day="2013-05-13")
    derived = workshop.derived("copy", compute="SELECT * FROM totals", inputs={"totals": "totals"})
    report = workshop.run(derived, backfill="May was late")
    assert workshop.newest_seal("copy")[1].differs == "May was late"
    assert "goes ahead as a backfill (May was late) although" in report.notes[0]
    workshop.run(derived, day="2013-05-13", backfill="not needed", run="another")
    assert workshop.newest_seal("copy")[1].differs == ""


def test_what_is_read_beside_the_declared_inputs_is_in_the_seal(workshop: Workshop) -> None:
    shops = workshop.write("shops", [{"shop": "Kiel", "city": "Kiel"}])

    def peeking(sales: DataFrame) -> DataFrame:
        return total(sales.join(sales.sparkSession.table(f"lake.{workshop.name('shops')}"), "shop"))

    workshop.run(workshop.derived("peeking", compute=peeking))
    statement = workshop.newest_seal("peeking")[1]
    assert statement.scanned.keys() == {workshop.name("sales"), workshop.name("shops")}
    assert shops not in workshop.newest_seal("peeking")[0].inputs.values()


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        ("SELECT shop, amount AS total, id FROM sales", "column 'id' is unknown"),
        ("SELECT shop FROM sales", "column 'total' is missing"),
        ("SELECT shop, amount AS total, amount AS total FROM sales", "column 'total' is there twice"),
        ("SELECT shop, amount / 2 AS total FROM sales", "column 'total' is double, not bigint"),
        ("SELECT nullif(shop, 'Kiel') AS shop, amount AS total FROM sales", "column 'shop' holds a null"),
    ],
)
def test_what_is_not_declared_is_refused_by_column(workshop: Workshop, compute: str, message: str) -> None:
    required = {"shop": pandera.Column(T.StringType(), nullable=False), "total": T.LongType()}
    derived = workshop.derived("totals", required, compute)
    with pytest.raises(DoesNotFit) as caught:
        workshop.run(derived)
    assert message in caught.value.message
    assert "Kiel" not in str(caught.value)
    assert workshop.head("totals") is None


def test_a_broken_blocking_rule_stops_the_step_and_a_warning_is_counted(workshop: Workshop) -> None:
    small = {"total": pandera.Column(T.LongType(), pandera.Check.le(3), nullable=True), "shop": T.StringType()}
    with pytest.raises(ContractBroken) as caught:
        workshop.run(workshop.derived("blocked", small))
    assert "1 of 2 rows" in caught.value.message
    assert workshop.head("blocked") is None
    warned = pandera.Column(T.LongType(), pandera.Check.le(3), nullable=True, metadata={"severity": "warning"})
    workshop.run(workshop.derived("warned", {**small, "total": warned}))
    broken = [rule for rule in workshop.newest_seal("warned")[1].rules.values() if rule["broken"]]
    assert broken == [{"severity": "warning", "broken": 1}]


def test_a_function_that_returns_no_frame_is_refused(workshop: Workshop) -> None:
    with pytest.raises(NotAFrame, match="list"):
        workshop.run(workshop.derived("totals", compute=lambda sales: sales.collect()))


@pytest.mark.parametrize(
    ("other", "reads", "ends_as"),
    [
        ({}, False, Superseded),
        ({"day": "2013-05-15"}, False, ComputedOtherwise),
        ({"parameters": {"least": 1}}, False, Superseded),
        ({"parameters": {"least": 1}}, True, ComputedOtherwise),
    ],
)
def test_of_two_runs_at_once_one_lands_and_the_other_is_told_what_it_was(
    workshop: Workshop,
    other: dict[str, Any],
    reads: bool,
    ends_as: type[LakehouseError],
) -> None:
    def compute(sales: DataFrame, parameters: Parameters) -> DataFrame:
        assert not reads or parameters["least"]
        return total(sales)

    derived = workshop.derived("totals", compute=compute)

    def overtaken(sales: DataFrame, parameters: Parameters) -> DataFrame:
        workshop.run(derived, run="quicker", **other)
        return compute(sales, parameters)

    slow = workshop.step(derived, run="slower", parameters={"least": 2} if "parameters" in other else None)
    with pytest.raises(ends_as) as ended:
        derive(replace(slow, derived=replace(derived, compute=overtaken)))
    assert workshop.newest_seal("totals")[0].run_id == "quicker"
    assert len(workshop.rows("totals")) == 2
    if ends_as is ComputedOtherwise:
        assert "run quicker has published it" in ended.value.message
        assert f"lakehouse derive {derived.name} --upstream --downstream --runtime-date {DAY}" in ended.value.remedy


def test_a_compaction_meanwhile_costs_another_computation(workshop: Workshop) -> None:
    derived = workshop.derived("totals")
    workshop.run(derived)
    compact = f"CALL lake.system.rewrite_data_files(table => '{derived.name}', options => map('rewrite-all', 'true'))"
    times: list[None] = []

    def overtaken(sales: DataFrame) -> DataFrame:
        if not times:
            workshop.spark(lambda spark: spark.sql(compact).collect())
        times.append(None)
        return total(sales)

    derive(replace(workshop.step(derived, run="next"), derived=replace(derived, compute=overtaken)))
    assert len(times) == 2
    assert workshop.newest_seal("totals")[0].run_id == "next"
    assert workshop.rows("totals") == [("Bonn", 4), ("Kiel", 3)]
