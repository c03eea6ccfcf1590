"""History is walked by parents, however snapshots are listed; bent into a circle it is told, and ends."""

import random

import pytest

from lakehouse.protocol.errors import HistoryCircular
from lakehouse.protocol.seals.history import ancestry, head_of, leads_to
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


def test_in_whichever_order_snapshots_are_listed(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    for number in range(3):
        sql_lake.write(f"s{number}", a=[number])
    table = sql_lake.load(name)
    newest_first = sorted(table.metadata.snapshots, key=lambda snapshot: -(snapshot.sequence_number or 0))
    whole = [snapshot.snapshot_id for snapshot in newest_first]
    chance = random.Random(7)
    for _ in range(20):
        listed = chance.sample(newest_first, len(newest_first))
        table.metadata = table.metadata.model_copy(update={"snapshots": listed})
        assert [snapshot.snapshot_id for snapshot in ancestry(table, whole[0])] == whole
        assert [snapshot.snapshot_id for snapshot in ancestry(table, whole[2])] == whole[2:]
    table.metadata = table.metadata.model_copy(update={"snapshots": newest_first[:2]})
    assert [snapshot.snapshot_id for snapshot in ancestry(table, whole[0])] == whole[:2], "as far as it is not expired"


def test_whether_a_snapshot_leads_to_another(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    for number in range(3):
        sql_lake.write(f"s{number}", a=[number])
    table = sql_lake.load(name)
    newest_first = [snapshot.snapshot_id for snapshot in ancestry(table, head_of(table))]
    for base in (None, *newest_first[3:]):
        assert leads_to(table, newest_first[0], newest_first[2], since=base)
        assert not leads_to(table, newest_first[2], newest_first[0], since=base)
