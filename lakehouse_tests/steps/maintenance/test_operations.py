"""Every operation that can be planned is one that can be carried out."""

from lakehouse.steps.maintenance.model.action import Operation
from lakehouse.steps.maintenance.operations import OPERATIONS


def test_every_operation_is_in_the_one_list() -> None:
    assert set(OPERATIONS) == set(Operation) - {Operation.NOTHING}
