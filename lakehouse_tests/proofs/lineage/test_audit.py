"""What real steps of derived tables leave behind: sound ones are proven, and what they conceal is found."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from lakehouse.declarations import Derived
from lakehouse.proofs.lineage.audit import DerivedProof, audit_derived
from lakehouse.proofs.lineage.dates import DatesReport, check_dates
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.proofs.lineage.computed import DAY as MAY
from lakehouse_tests.proofs.lineage.computed import OTHER_DAY, A, derived, lake_of
from lakehouse_tests.steps.derived.conftest import workshop
from lakehouse_tests.steps.derived.workshop import DAY, TOTALS, Workshop, total

__all__ = ["workshop"]
pytestmark = pytest.mark.spark
TUESDAY = "2013-05-15"


def audit(workshop: Workshop, derived: Derived) -> DerivedProof:
    return audit_derived(lambda name: workshop.catalog.load_table(tuple(name.split("."))), derived)


def unreadable(workshop: Workshop, short: str) -> None:
    for task in workshop.load(short).scan().plan_files():
        Path(task.file.file_path.removeprefix("file:").replace("//", "/")).write_bytes(b"")


def test_sound_steps_are_proven_without_a_look_at_a_data_file(workshop: Workshop) -> None:
    first = workshop.derived("totals")
    top = workshop.derived(
        "top", compute="SELECT t.shop, t.total FROM t JOIN s USING (shop)", inputs={"t": "totals", "s": "shops"}
    )
    workshop.write("shops", [{"shop": "Kiel", "city": "Kiel"}])
    workshop.run(first)
    workshop.run(top)
    for short in ("sales", "shops", "totals", "top"):
        unreadable(workshop, short)
    proof = audit(workshop, top)
    assert proof.holds, proof.findings
    assert proof.undecided == ()
    assert proof.dates is not None
    assert (proof.dates.rows, proof.dates.decided_by) == (1, "manifests")
    assert {given.table: given.runtime_date for given in proof.inputs} == {first.name: DAY, workshop.name("shops"): ""}


def test_a_read_that_is_not_declared_and_an_input_that_is_not_read_are_found(workshop: Workshop) -> None:
    shops = workshop.name("shops")
    workshop.write("shops", [{"shop": "Kiel", "city": "Kiel"}])

    def nosy(sales: DataFrame) -> DataFrame:
        return total(sales).join(sales.sparkSession.table(f"lake.{shops}"), "shop").select("shop", "total")

    derived = workshop.derived("nosy", compute=nosy)
    workshop.run(derived)
    assert [(f.kind, shops in f.message) for f in audit(workshop, derived).findings] == [
        ("lineage_undeclared_read", True)
    ]

    def idle(sales: DataFrame, shops: DataFrame) -> DataFrame:
        return total(sales)

    two = workshop.derived("idle", compute=idle, inputs={"sales": "sales", "shops": "shops"})
    workshop.run(two)
    assert [(f.kind, shops in f.message) for f in audit(workshop, two).findings] == [("lineage_unused_input", True)]


@pytest.fixture
def log(workshop: Workshop) -> Derived:
    """A table that has grown on two days."""
    derived = workshop.derived(
        "log", TOTALS, "SELECT shop, amount AS total FROM sales", mode="incremental", follows="sales"
    )
    workshop.run(derived)
    workshop.sell(("Rome", 5))
    workshop.run(derived, run="run-2", day=TUESDAY)
    return derived


def test_a_growing_table_reads_its_range_up_to_what_was_pinned_and_may_be_compacted(
    workshop: Workshop, log: Derived
) -> None:
    proof = audit(workshop, log)
    assert proof.holds, proof.findings
    assert proof.dates is not None
    assert ([str(day) for day in proof.dates.expected], proof.dates.scanned) == ([DAY, TUESDAY], 0)
    compaction = f"CALL lake.system.rewrite_data_files(table => '{log.name}', options => map('rewrite-all', 'true'))"
    workshop.spark(lambda spark: spark.sql(compaction).collect())
    after = audit(workshop, log)
    assert after.holds, after.findings
    assert after.dates is not None
    assert (after.dates.files, after.dates.scanned) == (1, 1)


def test_deleted_rows_do_not_count_whatever_their_files_hold(tmp_path: Path, spark_on: SparkOn) -> None:
    growing = derived("derived.log", A, mode="incremental")
    lake = lake_of(tmp_path, [A], growing)
    lake.source()
    lake.compute(growing.name, rows=[OTHER_DAY, MAY])
    lake.compute(growing.name)

    def dates() -> DatesReport:
        return check_dates(lake.load(growing.name), lake.head(growing.name), growing)

    assert [finding.kind for finding in dates().findings] == ["other_date"]
    with spark_on(sql_settings(tmp_path)) as spark:
        name = f"lake.{growing.name}"
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
        spark.sql(f"DELETE FROM {name} WHERE runtime_date = DATE '{OTHER_DAY}'")
    assert lake.load(growing.name).current_snapshot().summary["added-delete-files"] == "1"
    proof = dates()
    assert [finding.kind for finding in proof.findings] == ["unsealed"], "the date is right, the delete is not ours"
    assert (proof.files, proof.scanned) == (2, 1)
