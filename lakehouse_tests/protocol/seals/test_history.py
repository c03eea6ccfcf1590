"""A history that somebody has bent into a circle is told, and nobody walks in it for ever."""

from pathlib import Path

import pytest

from lakehouse.protocol.errors import HistoryCircular
from lakehouse.protocol.seals.history import ancestry, head_of
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.audit.document import Document, edit_document


def test_a_snapshot_that_is_its_own_ancestor(sql_lake: Lake, tmp_path: Path) -> None:
    name = sql_lake.create("a")
    for number in range(2):
        sql_lake.write(f"s{number}", a=[number])
    whole = [snapshot.snapshot_id for snapshot in ancestry(sql_lake.load(name), head_of(sql_lake.load(name)))]

    def bend(document: Document) -> None:
        document["snapshots"][0]["parent-snapshot-id"] = document["snapshots"][-1]["snapshot-id"]

    edit_document(tmp_path / "catalog.db", name, bend)
    table = sql_lake.load(name)
    walk = ancestry(table, head_of(table))
    assert [next(walk).snapshot_id for _ in whole] == whole
    with pytest.raises(HistoryCircular, match=f"{name}: snapshot {whole[0]} is its own ancestor"):
        next(walk)
