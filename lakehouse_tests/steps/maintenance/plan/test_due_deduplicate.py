"""When duplicates are due to go."""

from lakehouse.declarations import Deduplicate
from lakehouse.steps.maintenance.model.partitions import NEVER
from lakehouse.steps.maintenance.model.state import Partition, PartitionState
from lakehouse.steps.maintenance.plan.due_deduplicate import closes_at
from lakehouse_tests.steps.maintenance.states import DAY


def test_a_partition_that_never_ends_is_never_closed() -> None:
    for ends in (NEVER, NEVER - DAY / 2):
        partition = PartitionState(partition=Partition(key="k", name="part=9999-12-31"), ends=ends)
        assert closes_at(partition, Deduplicate(order_by=("n",))) == NEVER
