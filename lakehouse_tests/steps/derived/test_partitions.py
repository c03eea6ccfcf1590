"""Partitions: a run computes its own and touches no other, and together they are the whole table."""

import re
from dataclasses import replace
from datetime import date

import dagster as dg
import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyspark.sql import DataFrame

from lakehouse.declarations import ByDay, ByMonth, ByValue, DeclarationError, Derived, Partitions
from lakehouse.protocol.errors import Superseded
from lakehouse.steps.derived.inputs.agreement import InputsDisagree
from lakehouse.steps.derived.parts import part_of
from lakehouse.steps.derived.refusals import UnknownPartition
from lakehouse.steps.derived.step import derive
from lakehouse_tests.steps.derived.workshop import TOTALS, Workshop, table_of

DAYS = {"day": T.DateType(), "amount": T.LongType()}
COPY = "SELECT day, amount FROM sales"
BY_DAY = ByDay(column="day", start=date(2013, 1, 1), end=date(2013, 1, 5))
BY_SHOP = ByValue(column="shop", values=("Kiel", "Bonn"))


def declared(partitions: Partitions, kind: T.DataType | None = None) -> Derived:
    """A derived table that is never written."""
    layout = {ByDay: "day(day)", ByMonth: "month(day)", ByValue: "shop"}[type(partitions)]
    columns = {"day": kind or T.DateType(), "shop": T.StringType()}
    table = table_of("d.parts", columns, derived=True, partitioning=(layout,))
    return Derived(table=table, inputs={"sales": "r.sales"}, compute=COPY, partitions=partitions)


def test_neighbours_are_shown_as_one_range() -> None:
    days = declared(replace(BY_DAY, end=None))
    keys = ["2013-01-02", "2013-01-01", "2013-01-03", "2013-02-28", "2013-03-01"]
    assert part_of(days, keys).shown == ("2013-01-01..2013-01-03", "2013-02-28..2013-03-01")
    months = declared(ByMonth(column="day", start=date(2012, 11, 7)))
    assert part_of(months, ["2013-01-01", "2012-12-01", "2012-11-01"]).shown == ("2012-11-01..2013-01-01",)
    assert part_of(months, ["2013-02-01"]).shown == ("2013-02-01",)
    assert part_of(declared(BY_SHOP), ["Kiel", "Bonn"]).shown == ("Kiel", "Bonn")
    assert part_of(days, []).shown == ()


@pytest.mark.parametrize(
    ("partitions", "key"),
    [
        (BY_DAY, "2013-01-05"),
        (BY_DAY, "2012-12-31"),
        (BY_DAY, "today"),
        (ByMonth(column="day", start=date(2013, 1, 1)), "2013-01-02"),
        (BY_SHOP, "Rome"),
    ],
)
def test_a_key_that_names_no_partition_is_refused(partitions: Partitions, key: str) -> None:
    with pytest.raises(UnknownPartition, match=key):
        part_of(declared(partitions), [key])


@pytest.mark.parametrize(
    ("partitions", "layout", "message"),
    [
        (BY_DAY, "month(day)", r"partitioning=\('day\(day\)',\)"),
        (BY_DAY, "bucket(4, day)", r"partitioning=\('day\(day\)',\)"),
        (ByMonth(column="day", start=date(2013, 1, 1)), "year(day)", r"partitioning=\('month\(day\)',\)"),
        (BY_SHOP, "truncate(1, shop)", r"partitioning=\('shop',\)"),
        (ByValue(column="day", values=("a",)), "day", "values by a text"),
        (ByDay(column="shop", start=date(2013, 1, 1)), "shop", "by a date or timestamp"),
        (ByDay(column="hour", start=date(2013, 1, 1)), "day", "no column"),
    ],
)
def test_partitions_need_files_of_their_own(partitions: Partitions, layout: str, message: str) -> None:
    columns = {"day": T.DateType(), "shop": T.StringType()}
    table = table_of("d.parts", columns, derived=True, partitioning=(layout,))
    with pytest.raises(DeclarationError, match=message):
        Derived(table=table, inputs={"sales": "r.sales"}, compute=COPY, partitions=partitions)


@pytest.mark.parametrize("value", ["Ki\nel", "Ki\tel", "Ki\x00el", "Ki...el"])
def test_a_value_that_is_no_key_of_a_partition_is_refused_where_it_is_declared(value: str) -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError):
        dg.StaticPartitionsDefinition([value])
    with pytest.raises(DeclarationError, match=rf"Partitions by shop: {re.escape(repr(value))}.*Remedy: leave out"):
        ByValue(column="shop", values=("Bonn", value))


@pytest.fixture
def by_day(workshop: Workshop) -> Derived:
    """A sale on each of four days, in a table by day."""
    rows = [{"id": n, "shop": "Kiel", "day": date(2013, 1, n), "amount": n} for n in range(1, 5)]
    workshop.write("sales", rows, replacing=True)
    layout = {"partitioning": ("day(day)",)}
    return workshop.derived("days", DAYS, COPY, partitions=BY_DAY, table=layout)


@pytest.mark.spark
def test_a_run_of_some_days_touches_no_other_and_a_backfill_fills_all(workshop: Workshop, by_day: Derived) -> None:
    workshop.run(by_day, keys=["2013-01-02"], run="one")
    assert workshop.rows("days", "amount") == [(2,)]
    workshop.run(by_day, keys=["2013-01-01", "2013-01-03", "2013-01-04"], run="two")
    assert workshop.rows("days", "amount") == [(1,), (2,), (3,), (4,)]
    assert workshop.newest_seal("days")[1].partition == ("2013-01-01", "2013-01-03..2013-01-04")
    doubled = [{"id": n, "shop": "Kiel", "day": date(2013, 1, n), "amount": 10 * n} for n in range(1, 5)]
    workshop.write("sales", doubled, replacing=True)
    again = workshop.run(by_day, keys=["2013-01-02"], run="three", day="2013-05-15")
    assert workshop.rows("days", "amount") == [(1,), (3,), (4,), (20,)]
    assert workshop.rows("days", "runtime_date")[-1] == (date(2013, 5, 15),)
    assert again.statement.added == 1
    workshop.write("sales", [], replacing=True)
    workshop.run(by_day, keys=["2013-01-02"], run="four", day="2013-05-15")
    assert workshop.rows("days", "amount") == [(1,), (3,), (4,)], "what is gone from the input is gone"


@pytest.mark.spark
def test_two_runs_of_different_days_at_once_both_land(workshop: Workshop, by_day: Derived) -> None:
    def overtaken(sales: DataFrame) -> DataFrame:
        if workshop.head("days") is None:
            workshop.run(by_day, keys=["2013-01-02"], run="quicker")
        return sales.select("day", "amount")

    slow = workshop.step(by_day, keys=["2013-01-01"], run="slower")
    derive(replace(slow, derived=replace(by_day, compute=overtaken)))
    assert workshop.rows("days", "amount") == [(1,), (2,)]
    assert workshop.branches("days") == [slow.attempt.branch], "what the lost try has staged, for housekeeping"


@pytest.mark.spark
def test_two_runs_of_one_day_at_once_end_as_one(workshop: Workshop, by_day: Derived) -> None:
    def overtaken(sales: DataFrame) -> DataFrame:
        workshop.run(by_day, keys=["2013-01-01"], run="quicker")
        return sales.select("day", "amount")

    slow = workshop.step(by_day, keys=["2013-01-01"], run="slower")
    with pytest.raises(Superseded):
        derive(replace(slow, derived=replace(by_day, compute=overtaken)))
    assert workshop.rows("days", "amount") == [(1,)]


@pytest.mark.spark
@pytest.mark.parametrize("keys", [[], ["2013-01-01", "2013-01-03"], ["2013-01-01", "2013-01-02", "2013-01-03"]])
def test_a_run_that_was_outdone_in_one_of_its_days_computes_the_others(
    workshop: Workshop, by_day: Derived, keys: list[str]
) -> None:
    def overtaken(sales: DataFrame) -> DataFrame:
        if workshop.head("days") is None:
            workshop.run(by_day, keys=["2013-01-01"], run="quicker")
        return sales.select("day", "amount")

    slow = workshop.step(by_day, keys=keys, run="slower")
    derive(replace(slow, derived=replace(by_day, compute=overtaken)))
    assert workshop.rows("days", "amount") == [(n,) for n in range(1, 5) if not keys or f"2013-01-0{n}" in keys]


@pytest.mark.spark
def test_rows_of_no_partition_stop_a_run_of_the_whole_table(workshop: Workshop, by_day: Derived) -> None:
    workshop.run(by_day, run="one")
    assert workshop.rows("days", "amount") == [(1,), (2,), (3,), (4,)]
    workshop.write("sales", [{"id": 5, "shop": "Kiel", "day": date(2013, 1, 5), "amount": 5}])
    with pytest.raises(UnknownPartition, match="1 row in no declared partition"):
        workshop.run(by_day, run="two")
    workshop.run(by_day, run="two", keys=["2013-01-04"])


@pytest.mark.spark
def test_partitions_by_value_and_a_value_that_nobody_declared(workshop: Workshop) -> None:
    derived = workshop.derived("shops_", TOTALS, partitions=BY_SHOP, table={"partitioning": ("shop",)})
    workshop.run(derived, keys=["Kiel"])
    assert workshop.rows("shops_") == [("Kiel", 3)]
    workshop.run(derived, keys=["Bonn"])
    assert workshop.rows("shops_") == [("Bonn", 4), ("Kiel", 3)]
    workshop.sell(("Rome", 7))
    with pytest.raises(UnknownPartition, match="1 row in no declared partition"):
        workshop.run(derived, keys=["Bonn"], run="next")


@pytest.mark.spark
def test_months_of_moments_are_cut_in_utc(workshop: Workshop) -> None:
    moments = {"at": pandera.Column(T.TimestampType(), nullable=False), "amount": T.LongType()}
    text = """SELECT TIMESTAMP '2013-01-31 23:30:00 UTC' + make_interval(0, 0, 0, 0, id) AS at, amount FROM sales"""
    by = ByMonth(column="at", start=date(2013, 1, 1))
    derived = workshop.derived("moments", moments, text, partitions=by, table={"partitioning": ("month(at)",)})
    workshop.run(derived, keys=["2013-01-01"])
    assert workshop.rows("moments", "amount") == [(1,)]
    workshop.run(derived, keys=["2013-02-01"])
    assert workshop.rows("moments", "amount") == [(1,), (2,), (4,)]
    assert workshop.newest_seal("moments")[1].partition == ("2013-02-01",)


@pytest.mark.spark
def test_a_partition_of_other_parameters_or_another_date_is_noticed_though_the_newest_is_right(
    workshop: Workshop, by_day: Derived
) -> None:
    days = replace(by_day, compute=f"{by_day.compute} WHERE :share > 0")
    workshop.run(days, keys=["2013-01-01", "2013-01-02"], parameters={"share": 1})
    workshop.run(days, keys=["2013-01-01"], parameters={"share": 2})
    workshop.run(days, keys=["2013-01-03"], parameters={"share": 1})
    derived = workshop.derived("sum", {"amount": T.LongType()}, "SELECT amount FROM days", inputs={"days": "days"})
    with pytest.raises(InputsDisagree, match=r'days: partition 2013-01-01: .* parameters \{"share": 2\}, run run'):
        workshop.run(derived, parameters={"share": 1})
    workshop.run(days, keys=["2013-01-01"], parameters={"share": 1}, day="2013-05-13", run="early", backfill="late")
    with pytest.raises(InputsDisagree, match=r"days: partition 2013-01-01: runtime date 2013-05-13, .* run early"):
        workshop.run(derived, parameters={"share": 1})
    workshop.run(days, keys=["2013-01-01"], parameters={"share": 1})
    workshop.run(derived, parameters={"share": 1})
    assert workshop.rows("sum") == [(1,), (2,), (3,)]


@pytest.mark.spark
def test_days_of_before_and_after_a_correction_are_noticed_though_the_newest_run_is_right(
    workshop: Workshop, by_day: Derived
) -> None:
    workshop.run(by_day, keys=["2013-01-01", "2013-01-02"])
    corrected = [{"id": n, "shop": "Kiel", "day": date(2013, 1, n), "amount": 10 * n} for n in range(1, 5)]
    workshop.write("sales", corrected, replacing=True)
    workshop.run(by_day, keys=["2013-01-02", "2013-01-03"], run="two")
    derived = workshop.derived("sum", {"amount": T.LongType()}, "SELECT amount FROM days", inputs={"days": "days"})
    with pytest.raises(InputsDisagree, match=r"was read in 2 versions: .*days \(partition 2013-01-01\) ← "):
        workshop.run(derived, run="three")
    workshop.run(by_day, keys=["2013-01-01"], run="three")
    workshop.run(derived, run="three")
    assert workshop.rows("sum") == [(10,), (20,), (30,)]
