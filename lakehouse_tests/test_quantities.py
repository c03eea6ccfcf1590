"""One is not many."""

from lakehouse.quantities import quantity


def test_one_has_no_s() -> None:
    assert [quantity(count, "row") for count in (0, 1, 1095)] == ["0 rows", "1 row", "1,095 rows"]
    assert quantity(2, "quantity", "quantities") == "2 quantities"
