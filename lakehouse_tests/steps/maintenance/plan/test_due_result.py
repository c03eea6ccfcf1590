"""What a rule finds due, in words."""

from lakehouse.steps.maintenance.plan.due_result import sized
from lakehouse_tests.steps.maintenance.states import MIB


def test_a_size_is_told_in_the_unit_that_fits() -> None:
    assert [sized(of) for of in (0, 1500, 3 * MIB, 2048 * MIB)] == ["0.0 kB", "1.5 kB", "3.0 MiB", "2.0 GiB"]
