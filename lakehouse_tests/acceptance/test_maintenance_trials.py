import pytest

from lakehouse.acceptance.maintenance_trials import compacted
from lakehouse.acceptance.scratch import Scratch
from lakehouse.acceptance.trial import NotSeen
from lakehouse.declarations import apply, plan


def test_without_orders_there_is_nothing_to_compact(numbers: Scratch) -> None:
    name = numbers.name("orders")
    apply(plan(numbers.declarations.tables[name], numbers.catalog), numbers.catalog)
    with pytest.raises(NotSeen, match="no order"):
        compacted(numbers)
