"""Two ways to one ancestor that name two contents of it: found. Every other case is in `test_vintage`."""

from lakehouse.proofs.lineage.vintage import check_vintage
from lakehouse_tests.proofs.lineage.computed import TOP, A, B, C, Computed


def test_two_versions_of_a_shared_input_are_found(lake: Computed) -> None:
    lake.source()
    lake.compute(B)
    lake.source()
    lake.compute(C)
    lake.compute(TOP)
    assert [difference.ancestor for difference in check_vintage(lake.load, {TOP: lake.head(TOP)}).differences] == [A]
