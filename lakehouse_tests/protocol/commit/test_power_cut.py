"""The power is cut at every point of a publish: what is found afterwards is the old state or the new one, whole.

Guarded mechanisms: files are synced before a catalog's row names them, and their folders as well.
"""

from datetime import timedelta
from pathlib import Path

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.commit import publish
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import seals
from lakehouse_tests.fixtures.lakes import SCHEMA, Lake
from lakehouse_tests.protocol.commit.synced_state import State, SyncLog

BY_NUMBER = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "n"))
Rows = list[list[int]]


def test_a_publish_is_there_whole_or_not_at_all(
    sql_lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = SyncLog(tmp_path)
    with monkeypatch.context() as patch, log.following(patch):
        sql_lake.catalog.create_table((sql_lake.namespace, "a"), SCHEMA, partition_spec=BY_NUMBER)
        sql_lake.create("b")
        sql_lake.write("first", a=[1, 2], b=[10])
        sql_lake.write("second", a=[2, 3], b=[20])
    sql_lake.catalog.close()
    observed = [look(sql_lake, state, tmp_path) for state in log.states]
    expected = [[], [[]], [[], []], [[1, 2], [10]], [[1, 2, 2, 3], [10, 20]]]
    assert [rows for i, rows in enumerate(observed) if rows != observed[i - 1] or not i] == expected


def look(lake: Lake, state: State, root: Path) -> Rows:
    """Rows of the tables that are there, as a process reads them that starts after the power came back."""
    state.build(root)
    reopened = Lake(lake.settings, open_catalog(lake.settings), lake.namespace, None)
    names = sorted(".".join(identifier) for identifier in reopened.catalog.list_tables(lake.namespace))
    rows = [reopened.rows(name) for name in names]
    for name in names:
        table = reopened.load(name)
        for snapshot in seals(table, table.metadata.current_snapshot_id):
            table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
    reopened.catalog.close()
    return rows


def test_work_goes_on_after_a_power_cut(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where a branch has lost its files: the next attempt publishes, and housekeeping removes the branch."""
    log = SyncLog(tmp_path)
    with monkeypatch.context() as patch, log.following(patch):
        name = sql_lake.create("a")
        sql_lake.write("first", a=[1])
        staged = sql_lake.stage(sql_lake.bases(name)[name], Attempt(run_id="r", step="s"), [2])
        log.cut()
        publish(sql_lake.catalog, [staged])
    sql_lake.catalog.close()
    for state in log.states:
        state.build(tmp_path)
        reopened = Lake(sql_lake.settings, open_catalog(sql_lake.settings), sql_lake.namespace, None)
        if reopened.catalog.list_tables(sql_lake.namespace):
            rows = reopened.rows(name)
            reopened.write("third", a=[3])
            for branch in abandoned_branches(reopened.load(name), older_than=timedelta(0)):
                drop_branch(reopened.catalog, branch)
            assert reopened.rows(name) == [*rows, 3]
            assert set(reopened.load(name).metadata.refs) == {"main"}
        reopened.catalog.close()
