"""An incremental table receives each row of what it follows once, whatever kills its runs.

Guarded mechanism: the position is the input's snapshot in the table's own seal, and in nothing else.
"""

from datetime import UTC, datetime, timedelta

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Derived
from lakehouse.protocol.catalog import TableChange, set_branch
from lakehouse.protocol.commit import open_branch, publish, seal_branch
from lakehouse.protocol.commit.conflict_check import MAINTENANCE
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.failpoints import InjectedFault
from lakehouse.protocol.leases.lease import lease_tag, leases
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.derived import step
from lakehouse.steps.derived.inputs import increment
from lakehouse.steps.derived.refusals import HistoryLost, RowsOfOthers
from lakehouse_tests.steps.derived.workshop import SALES, Workshop, table_of

pytestmark = pytest.mark.spark
COLUMNS = {"shop": T.StringType(), "amount": T.LongType()}
COPY = "SELECT shop, amount FROM sales"
FIRST = [("Bonn", 4), ("Kiel", 1), ("Kiel", 2)]


@pytest.fixture
def copied(workshop: Workshop) -> Derived:
    return workshop.derived("copied", COLUMNS, COPY, mode="incremental", follows="sales")


@pytest.fixture
def shared(workshop: Workshop) -> Derived:
    """Computed with a parameter."""
    return workshop.derived("copied", COLUMNS, f"{COPY} WHERE :share > 0", mode="incremental", follows="sales")


def test_new_rows_are_added_once_and_the_date_moves_on_without_any(workshop: Workshop, copied: Derived) -> None:
    workshop.run(copied, run="one")
    assert workshop.rows("copied") == FIRST
    workshop.sell(("Rome", 7))
    report = workshop.run(copied, run="two")
    assert (report.statement.added, report.statement.total) == (1, 4)
    assert workshop.rows("copied") == [*FIRST, ("Rome", 7)]
    idle = workshop.run(copied, run="three", day="2013-05-15")
    assert idle.notes == (f"nothing new in {workshop.name('sales')}",)
    assert (idle.statement.added, workshop.newest_seal("copied")[0].runtime_date) == (0, "2013-05-15")
    assert workshop.rows("copied") == [*FIRST, ("Rome", 7)]
    assert idle.statement.scanned.keys() == {workshop.name("sales")}


@pytest.mark.parametrize("place", ["derive.staged", "publish.before", "publish.after"])
def test_each_row_once_across_a_retry(
    workshop: Workshop, copied: Derived, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.run(copied, run="one")
    workshop.sell(("Rome", 7))
    monkeypatch.setenv("LAKEHOUSE_FAILPOINTS", f"{place}=fail")
    with pytest.raises(InjectedFault):
        workshop.run(copied, run="two")
    monkeypatch.delenv("LAKEHOUSE_FAILPOINTS")
    assert (("Rome", 7) in workshop.rows("copied")) is (place == "publish.after")
    workshop.run(copied, run="two")
    assert workshop.rows("copied") == [*FIRST, ("Rome", 7)]


def test_what_is_not_read_yet_is_kept_from_trimming(workshop: Workshop, copied: Derived) -> None:
    with workshop.load("sales").transaction() as change:
        change.set_properties({"lakehouse.publish.keep-snapshots": "2"})
    workshop.run(copied, run="one")
    read = workshop.head("sales")
    for amount in range(10, 16):
        workshop.sell(("Rome", amount))
    assert leases(workshop.load("sales")) == {lease_tag(copied.name): read}
    workshop.run(copied, run="two")
    assert len(workshop.rows("copied")) == 9
    assert leases(workshop.load("sales")) == {lease_tag(copied.name): workshop.head("sales")}


def test_a_compaction_of_the_input_adds_nothing(workshop: Workshop, copied: Derived) -> None:
    workshop.run(copied, run="one")
    workshop.sell(("Rome", 7))
    name = workshop.name("sales")
    compact = f"CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
    workshop.spark(lambda spark: spark.sql(compact).collect())
    workshop.run(copied, run="two")
    assert workshop.rows("copied") == [*FIRST, ("Rome", 7)]


def test_an_input_that_did_more_than_append_is_refused_until_a_rebuild(workshop: Workshop, copied: Derived) -> None:
    workshop.run(copied, run="one")
    workshop.write("sales", [{"id": 9, "shop": "Rome", "amount": 7}], replacing=True)
    with pytest.raises(HistoryLost, match=r"did more than append.*--rebuild"):
        workshop.run(copied, run="two")
    workshop.run(copied, run="two", rebuild=True)
    assert workshop.rows("copied") == [("Rome", 7)]
    assert workshop.newest_seal("copied")[1].mode == "full"


def test_a_retention_that_is_passed_over_adds_and_removes_nothing(
    workshop: Workshop, copied: Derived, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark reads what was appended, also where the delete wrote a file anew. When that may be: `test_increment`."""
    workshop.run(copied, run="one")
    name, attempt = workshop.name("sales"), Attempt(run_id="retention", step="retire:sales")
    base = read_bases(workshop.catalog, [name])[name]
    assert base.sealed
    open_branch(workshop.catalog, base, attempt)
    commit_on_branch(
        workshop.catalog,
        base,
        attempt.branch,
        lambda change: change.delete("amount = 1", snapshot_properties=attempt.marks, branch=attempt.branch),
    )
    seal = Seal.of(attempt, "retire", statement=base.sealed.seal.statement, previous=base.sealed.seal)
    publish(workshop.catalog, [seal_branch(workshop.catalog, base, attempt, seal)])
    workshop.sell(("Rome", 7))
    monkeypatch.setattr(increment, "is_read_before", lambda *_: True)
    report = workshop.run(copied, run="two")
    assert report.statement.added == 1
    assert workshop.rows("copied") == [*FIRST, ("Rome", 7)]


def test_rows_are_not_added_to_those_of_a_table_that_was_followed_before(workshop: Workshop, copied: Derived) -> None:
    workshop.run(copied, run="one")
    workshop.declare(table_of(workshop.name("corrected"), SALES))
    workshop.write("corrected", [{"id": 1, "shop": "Rome", "amount": 7}])
    other = workshop.derived(
        "copied", COLUMNS, COPY, inputs={"sales": "corrected"}, mode="incremental", follows="sales"
    )
    with pytest.raises(HistoryLost, match=r"followed another table.*--rebuild"):
        workshop.run(other, run="two")
    workshop.run(other, run="two", rebuild=True)
    assert workshop.rows("copied") == [("Rome", 7)]


def test_a_position_that_has_expired_is_not_taken_for_the_beginning(workshop: Workshop, copied: Derived) -> None:
    workshop.run(copied, run="one")
    base = read_bases(workshop.catalog, [copied.name])[copied.name]
    keeper = Attempt("keeper", "maintenance")
    seal = Seal.of(keeper, MAINTENANCE, statement={}, previous=base.sealed.seal if base.sealed else None)
    publish(workshop.catalog, [seal_branch(workshop.catalog, base, keeper, seal)])
    with workshop.load("copied").maintenance.expire_snapshots() as expired:
        expired.older_than(datetime.now(UTC) + timedelta(days=1))
    assert len(workshop.load("copied").metadata.snapshots) == 1
    with pytest.raises(HistoryLost, match=r"has expired.*--rebuild"):
        workshop.run(copied, run="two")
    assert workshop.rows("copied") == FIRST


def test_rows_of_other_parameters_are_not_put_side_by_side(workshop: Workshop, shared: Derived) -> None:
    workshop.run(shared, run="one", parameters={"share": 1})
    workshop.sell(("Rome", 7))
    with pytest.raises(
        RowsOfOthers, match=r"other parameters.*--rebuild --runtime-date 2013-05-14 --parameter share=2`"
    ):
        workshop.run(shared, run="two", parameters={"share": 2})
    workshop.run(shared, run="two", parameters={"share": 2}, backfill="from here on")
    assert workshop.rows("copied") == [*FIRST, ("Rome", 7)]


def test_a_backfill_that_adds_nothing_leaves_the_rows_of_their_parameters(workshop: Workshop, shared: Derived) -> None:
    workshop.run(shared, run="one", parameters={"share": 1})
    workshop.run(shared, run="two", parameters={"share": 2}, backfill="nothing is new")
    assert workshop.newest_seal("copied")[1].parameters == {"share": 1}
    workshop.sell(("Rome", 7))
    with pytest.raises(RowsOfOthers, match="run one has computed with other parameters"):
        workshop.run(shared, run="three", parameters={"share": 2})
    workshop.run(shared, run="three", parameters={"share": 1})
    assert workshop.rows("copied") == [*FIRST, ("Rome", 7)]


def test_a_parameter_that_the_table_does_not_use_may_be_another(workshop: Workshop, copied: Derived) -> None:
    workshop.run(copied, run="one", parameters={"share": 1})
    workshop.sell(("Rome", 7))
    workshop.run(copied, run="two", parameters={"share": 2})
    assert workshop.rows("copied") == [*FIRST, ("Rome", 7)]


def test_a_declared_backfill_keeps_that_rows_are_of_two_versions_and_a_rebuild_ends_it(workshop: Workshop) -> None:
    workshop.write("shops", [{"shop": shop, "city": "old"} for shop in ("Kiel", "Bonn", "Rome")])
    both = {"sales": "sales", "shops": "shops"}
    text = "SELECT shop, city, amount FROM sales JOIN shops USING (shop)"
    derived = workshop.derived(
        "sold", COLUMNS | {"city": T.StringType()}, text, inputs=both, mode="incremental", follows="sales"
    )
    workshop.run(derived, run="one")
    old = workshop.head("shops")
    workshop.sell(("Rome", 7))
    workshop.write("shops", [{"shop": "Rome", "city": "new"}], replacing=True)
    with pytest.raises(RowsOfOthers, match=workshop.name("shops")):
        workshop.run(derived, run="two")
    workshop.run(derived, run="two", backfill="as it was known then")
    assert workshop.rows("sold", "city") == [("new",), *[("old",)] * 3]
    statement = workshop.newest_seal("sold")[1]
    assert [origin.inputs[workshop.name("shops")] for origin in statement.computed_from] == [
        old,
        workshop.head("shops"),
    ]
    assert (statement.follows, statement.differs) == (workshop.name("sales"), "as it was known then")
    workshop.run(derived, run="three", rebuild=True)
    assert len(workshop.newest_seal("sold")[1].computed_from) == 1


def test_an_older_run_that_comes_again_is_refused(workshop: Workshop, copied: Derived) -> None:
    workshop.run(copied, run="one")
    workshop.sell(("Rome", 7))
    workshop.run(copied, run="two")
    with pytest.raises(HistoryLost, match="has pinned the older snapshot"):
        workshop.run(copied, run="one")


def test_rows_from_outside_the_protocol_are_refused(workshop: Workshop, copied: Derived) -> None:
    workshop.run(copied, run="one")
    foreign = f"INSERT INTO lake.{copied.name} VALUES ('Rome', 0, DATE '2013-05-14')"
    workshop.spark(lambda spark: spark.sql(foreign).collect())
    with pytest.raises(RowsOfOthers, match="outside the protocol"):
        workshop.run(copied, run="two")


def test_an_input_that_is_set_back_while_it_is_read_adds_nothing(
    workshop: Workshop, copied: Derived, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.run(copied, run="one")
    identifier, former = workshop.load("sales").name(), workshop.head("sales")
    assert former is not None
    workshop.sell(("Rome", 7))

    def set_back(place: str) -> None:
        if place == "derive.staged":
            workshop.catalog.commit_tables([TableChange(identifier, (), (set_branch("main", former),))])

    monkeypatch.setattr(step, "failpoint", set_back)
    with pytest.raises(HistoryLost, match=r"was set back to before snapshot .* a new run reads what is there now"):
        workshop.run(copied, run="two")
    monkeypatch.undo()
    assert workshop.rows("copied") == FIRST
    workshop.sell(("Oslo", 8))
    workshop.run(copied, run="three")
    assert workshop.rows("copied") == sorted([*FIRST, ("Oslo", 8)])
