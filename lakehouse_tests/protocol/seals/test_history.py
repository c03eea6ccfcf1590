"""A history that somebody has bent into a circle is told, and nobody walks in it for ever."""

import pytest

from lakehouse.protocol.errors import HistoryCircular
from lakehouse.protocol.seals.history import ancestry, head_of
from lakehouse_tests.fixtures.lakes import Lake


def test_a_snapshot_that_is_its_own_ancestor(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    for number in range(2):
        sql_lake.write(f"s{number}", a=[number])
    whole = [snapshot.snapshot_id for snapshot in ancestry(sql_lake.load(name), head_of(sql_lake.load(name)))]

    table = sql_lake.load(name)  # as a REST catalog gives it, which asks no document whether it contradicts itself
    first, *others = table.metadata.snapshots
    bent = first.model_copy(update={"parent_snapshot_id": others[-1].snapshot_id})
    table.metadata = table.metadata.model_copy(update={"snapshots": [bent, *others]})
    walk = ancestry(table, head_of(table))
    assert [next(walk).snapshot_id for _ in whole] == whole
    with pytest.raises(HistoryCircular, match=f"{name}: snapshot {whole[0]} is its own ancestor"):
        next(walk)
