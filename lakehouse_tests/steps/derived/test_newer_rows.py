"""An old run that comes again does not put its rows in the place of newer ones: decided before a row is read.

Guarded mechanism: date and pins of the run against what the newest seal says of the rows that would go.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import ByDay, Derived, arrow_schema
from lakehouse.orchestration.resources.writing import WriteMode, write_table
from lakehouse.proofs.lineage.computations import Computation
from lakehouse.proofs.lineage.newer import NewerRows
from lakehouse.proofs.lineage.origins import Origin
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.derived.inputs.pins import Pin, pin_inputs
from lakehouse.steps.derived.plan import notes_of, prepare
from lakehouse.steps.derived.refusals import HistoryLost
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.derived.workshop import DAY, TOTALS, Workshop, make_workshop, no_spark, table_of

MONDAY, TUESDAY = "2013-05-13", DAY
FIRST = date(2013, 1, 1)


@pytest.fixture
def shop(sql_lake: Lake) -> Workshop:
    return make_workshop(sql_lake, no_spark)


def pinned(shop: Workshop, run: str) -> None:
    """What the first step of a run leaves behind on its input."""
    pin_inputs(shop.catalog, [shop.name("sales")], Pin(run, 1_000_000_000_000))


def totals(shop: Workshop, mode: str) -> Derived:
    match mode:
        case "incremental":
            return shop.derived("totals", mode="incremental", follows="sales")
        case "partitions":
            by = ByDay(column="day", start=FIRST)
            return shop.derived(
                "totals",
                {"shop": T.StringType(), "total": T.LongType(), "day": T.DateType()},
                partitions=by,
                table={"partitioning": ("day(day)",)},
            )
        case _:
            return shop.derived("totals")


@pytest.mark.parametrize("mode", ["full", "incremental", "partitions"])
def test_an_older_date_over_a_newer_one(shop: Workshop, mode: str) -> None:
    derived = totals(shop, mode)
    shop.computed(derived, run="tuesday", day=TUESDAY)
    keys = ["2013-01-01"] if mode == "partitions" else []
    with pytest.raises(NewerRows) as refused:
        prepare(shop.step(derived, run="monday", day=MONDAY, keys=keys))
    reason = f"{derived.name}: it holds rows of runtime date {TUESDAY} (run tuesday), and this run is of {MONDAY}"
    assert reason in refused.value.message
    assert "lakehouse/backfill" in refused.value.remedy
    prepare(shop.step(derived, run="wednesday", day="2013-05-15", keys=keys))
    prepare(shop.step(derived, run="again", day=TUESDAY, keys=keys))


def test_a_rebuild_is_no_excuse(shop: Workshop) -> None:
    derived = totals(shop, "incremental")
    shop.computed(derived, run="tuesday", day=TUESDAY)
    with pytest.raises(NewerRows):
        prepare(shop.step(derived, run="monday", day=MONDAY, rebuild=True))


@pytest.mark.parametrize("mode", ["full", "partitions"])
def test_older_pins_over_newer_ones_though_the_date_is_the_same(shop: Workshop, mode: str) -> None:
    derived = totals(shop, mode)
    pinned(shop, "early")
    old = shop.head("sales")
    shop.sell(("Rome", 7))
    shop.computed(derived, run="late")
    keys = ["2013-01-01"] if mode == "partitions" else []
    with pytest.raises(NewerRows) as refused:
        prepare(shop.step(derived, run="early", keys=keys))
    sales = shop.name("sales")
    reason = f"computed from {sales} at snapshot {shop.head('sales')}, and this run reads the older {old}"
    assert reason in refused.value.message
    prepare(shop.step(derived, run="new", keys=keys))


def test_older_pins_of_what_is_read_in_full_beside_a_followed_input(shop: Workshop) -> None:
    both = {"sales": "sales", "shops": "shops"}
    shop.write("shops", [{"shop": "Kiel", "city": "old"}])
    derived = shop.derived(
        "sold", compute="SELECT shop FROM sales JOIN shops", inputs=both, mode="incremental", follows="sales"
    )
    pin_inputs(shop.catalog, [shop.name("sales"), shop.name("shops")], Pin("early", 1_000_000_000_000))
    shop.write("shops", [{"shop": "Kiel", "city": "new"}], replacing=True)
    shop.computed(derived, run="late")
    with pytest.raises(NewerRows, match=shop.name("shops")):
        prepare(shop.step(derived, run="early"))


def test_what_is_followed_is_told_as_before(shop: Workshop) -> None:
    derived = totals(shop, "incremental")
    pinned(shop, "early")
    shop.sell(("Rome", 7))
    shop.computed(derived, run="late")
    with pytest.raises(HistoryLost, match="has pinned the older snapshot"):
        prepare(shop.step(derived, run="early"))


def test_a_declared_backfill_goes_ahead_and_says_so(shop: Workshop) -> None:
    derived = totals(shop, "full")
    pinned(shop, "early")
    shop.sell(("Rome", 7))
    shop.computed(derived, run="late", day=TUESDAY)
    step = shop.step(derived, run="early", day=MONDAY, backfill="Monday was right")
    work = prepare(step)
    assert len(work.replaced) == 2
    assert all("goes ahead as a backfill (Monday was right)" in note for note in notes_of(step, work))


def test_a_partition_that_holds_nothing_newer_is_computed(shop: Workshop) -> None:
    """Monday's run has failed before one of its days, and Tuesday's has computed another."""
    derived = totals(shop, "partitions")
    pinned(shop, "monday")
    old = shop.head("sales") or 0
    shop.sell(("Rome", 7))
    shop.computed(
        derived,
        run="tuesday",
        day=TUESDAY,
        partitioned_by="day(day)",
        computed_by=(
            Computation(MONDAY, "{}", "sunday", ("2013-01-01",)),
            Computation(TUESDAY, "{}", "t", ("2013-01-02",)),
        ),
        computed_from=(
            Origin({shop.name("sales"): old}, ("2013-01-01",)),
            Origin({shop.name("sales"): shop.head("sales") or 0}, ("2013-01-02",)),
        ),
    )
    for keys in (["2013-01-01"], ["2013-01-03"]):
        assert not prepare(shop.step(derived, run="monday", day=MONDAY, keys=keys)).replaced
    for keys in (["2013-01-02"], ["2013-01-01", "2013-01-02"], []):
        with pytest.raises(NewerRows, match="partition 2013-01-02"):
            prepare(shop.step(derived, run="monday", day=MONDAY, keys=keys))


def test_dates_that_can_no_longer_be_told_apart_are_not_older_than_the_newest(shop: Workshop) -> None:
    derived = totals(shop, "partitions")
    untold = Computation(partitions=("2013-01-01",))
    known = Computation(TUESDAY, "{}", "tuesday", ("2013-01-02",))
    shop.computed(derived, run="tuesday", day=TUESDAY, partitioned_by="day(day)", computed_by=(untold, known))
    prepare(shop.step(derived, run="again", day=TUESDAY, keys=["2013-01-01"]))
    with pytest.raises(NewerRows, match="partition 2013-01-01"):
        prepare(shop.step(derived, run="monday", day=MONDAY, keys=["2013-01-01"]))


def test_an_input_that_was_set_back_is_read_as_it_is_now(shop: Workshop) -> None:
    derived = totals(shop, "full")
    before = shop.head("sales") or 0
    shop.sell(("Rome", 7))
    shop.computed(derived, run="late")
    with shop.load("sales").manage_snapshots() as change:
        change.rollback_to_snapshot(before)
    prepare(shop.step(derived, run="new"))


def test_an_input_of_which_the_entry_has_expired_is_older_than_the_seal_that_names_it(shop: Workshop) -> None:
    derived = totals(shop, "full")
    shop.computed(derived, run="late")
    shop.sell(("Rome", 7))
    pinned(shop, "new")
    shop.sell(("Rome", 8))
    with shop.load("sales").maintenance.expire_snapshots() as expired:
        expired.older_than(datetime.now(UTC) + timedelta(days=1))
    assert not prepare(shop.step(derived, run="new")).replaced
    shop.computed(derived, run="later")
    shop.sell(("Rome", 9))
    with shop.load("sales").maintenance.expire_snapshots() as expired:
        expired.older_than(datetime.now(UTC) + timedelta(days=1))
    with pytest.raises(NewerRows, match="has expired"):
        prepare(shop.step(derived, run="new"))


def test_an_overwrite_of_ones_own_is_no_exception_and_an_append_takes_nothing_away(shop: Workshop) -> None:
    table = shop.declare(table_of(shop.name("mart"), TOTALS))
    rows = pa.Table.from_pylist([{"shop": "Kiel", "total": 1}], schema=arrow_schema(table))
    sales = shop.name("sales")

    def write(
        run: str, day: str, snapshot_id: int | None, mode: WriteMode = "overwrite", backfill: str = ""
    ) -> Mapping[str, str]:
        inputs = {sales: snapshot_id or 0}
        who = Attempt(run_id=run, step="write:mart", runtime_date=day)
        write_table(shop.catalog, table, who, rows, mode=mode, inputs=inputs, pinned=inputs, backfill=backfill)
        sealed = read_bases(shop.catalog, [table.name])[table.name].sealed
        assert sealed
        return sealed.seal.statement

    old = shop.head("sales")
    shop.sell(("Rome", 7))
    assert "write.replaces_newer" not in write("tuesday", TUESDAY, shop.head("sales"))
    with pytest.raises(NewerRows, match=f"runtime date {TUESDAY}"):
        write("monday", MONDAY, shop.head("sales"))
    with pytest.raises(NewerRows, match=f"{sales} at snapshot {shop.head('sales')}"):
        write("early", TUESDAY, old)
    write("monday", MONDAY, old, mode="append")
    write("tuesday again", TUESDAY, shop.head("sales"))
    summary = write("monday", MONDAY, old, backfill="Monday was right")
    assert summary["write.replaces_newer"] == "Monday was right"
