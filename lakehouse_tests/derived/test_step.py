"""One step of a derived table: what comes out, what its seal says, and how it ends where it does not go ahead."""

from datetime import date

import pytest

from lakehouse_tests.derived.workshop import DAY, Workshop

pytestmark = pytest.mark.spark


def test_a_function_is_computed_at_the_pinned_snapshots_and_its_seal_says_from_what(workshop: Workshop) -> None:
    one = workshop.derived("totals")
    report = workshop.run(one)
    assert workshop.rows("totals") == [("Bonn", 4), ("Kiel", 3)]
    assert workshop.rows("totals", "runtime_date") == [(date(2013, 5, 14),)] * 2
    seal, said = workshop.said("totals")
    sales = workshop.name("sales")
    assert (seal.kind, seal.runtime_date, dict(seal.inputs)) == ("derive", DAY, {sales: workshop.head("sales")})
    assert (said.mode, said.added, said.total, said.partition) == ("full", 2, 2, ())
    assert said.declared == {"sales": sales}
    assert said.scanned == {sales: workshop.head("sales")}
    assert said.dates == {sales: ""}
    assert said.column_lineage == {"shop": ((sales, "shop"),), "total": ((sales, "amount"),)}
    assert report.statement == said
    assert report.snapshot_id == workshop.head("totals")
    assert workshop.branches("totals") == []
