"""Manifests of another size, also where others commit meanwhile, and files of a branch that is gone."""

import sys
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile

from lakehouse.iceberg.entries import live_entries
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.commit import Replacement, publish, replace_snapshot
from lakehouse.protocol.errors import FilesTouched, MainMoved, RolledBack, Superseded
from lakehouse.protocol.seals.history import head_of
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.replacing import before_each_rebase, files_of, filled, numbers, regrouped, stage
from lakehouse_tests.protocol.commit.rewrites import (
    append,
    create,
    delete_rows,
    entries,
    replace_file,
    rewrite,
    stage_append,
)

pytestmark = pytest.mark.slow


def test_manifests_of_another_size(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer of them, the same entries; on top of what was appended meanwhile, without reading anything again."""
    name = filled(sql_lake)
    before = entries(sql_lake.load(name))
    staged = stage(sql_lake, name, regrouped(sql_lake, name))
    append(sql_lake, name, {9: 1})
    left, read = [{8: 2}], manifests_read(monkeypatch)

    def another() -> None:
        if left:
            append(sql_lake, name, left.pop())

    before_each_rebase(monkeypatch, another)
    assert publish(sql_lake.catalog, [staged]).rebases == 2
    assert read == []
    table = sql_lake.load(name)
    snapshot = table.metadata.snapshot_by_id(head_of(table) or 0)
    assert snapshot
    assert len(snapshot.manifests(table.io)) == 3
    after = entries(table)
    assert {path: numbers(after[path]) for path in before} == {path: numbers(e) for path, e in before.items()}
    assert sql_lake.rows(name) == [0, 1, 2, 8, 9, 10, 11, 12]


def test_manifests_that_were_merged_meanwhile_are_regrouped_again(sql_lake: Lake) -> None:
    """What was written for the older base would bring back what has gone since."""
    name = filled(sql_lake)
    staged = stage(sql_lake, name, regrouped(sql_lake, name))
    publish(sql_lake.catalog, [replace_file(sql_lake, name, files_of(sql_lake, name, 1)[0], {})])
    rows = sql_lake.rows(name)
    assert publish(sql_lake.catalog, [staged]).rebases == 1
    assert sql_lake.rows(name) == rows
    assert len(rows) == 5


def manifests_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the manifests that a replacement reads from now on."""
    read: list[str] = []

    def reading(io: FileIO, manifest: ManifestFile) -> Any:
        read.append(manifest.manifest_path)
        return live_entries(io, manifest)

    monkeypatch.setattr(replace_snapshot, "live_entries", reading)
    return read


def test_a_rebase_reads_manifests_that_matter(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that list files that go, and what has come since."""
    name = create(sql_lake)
    for n in range(6):
        append(sql_lake, name, {n: 1 if n < 2 else 2})
    table = sql_lake.load(name)
    written = stage(sql_lake, name, rewrite(table, 1))
    found = Replacement.between(sql_lake.load(name), head_of(table) or 0, parent_of(sql_lake, name, written.head))
    assert len(found.unconcerned) == 4
    read = manifests_read(monkeypatch)
    staged = stage(sql_lake, name, replace(found, head=None))
    assert len(read) == 2
    append(sql_lake, name, {9: 1})
    publish(sql_lake.catalog, [staged])
    assert len(read) == 2 + 3
    assert sql_lake.rows(name) == [0, 1, 2, 3, 4, 5, 9]
    assert len(files_of(sql_lake, name, 1)) == 2


def parent_of(lake: Lake, name: str, snapshot_id: int) -> int:
    snapshot = lake.load(name).metadata.snapshot_by_id(snapshot_id)
    assert snapshot
    return snapshot.parent_snapshot_id or 0


def test_files_whose_branch_is_gone(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Housekeeping has deleted them with the branch: nothing that needs them is published, on whatever base."""
    name = filled(sql_lake)
    with pytest.raises(MainMoved, match="removed or written to"):
        stage(sql_lake, name, replace(rewrite(sql_lake.load(name), 1), head=1))
    staged = stage(sql_lake, name, rewrite(sql_lake.load(name), 1))
    append(sql_lake, name, {9: 1})
    module = sys.modules[publish.__module__]
    real = module.rebase

    def housekeeping_first(*args: Any) -> Any:
        for left in abandoned_branches(sql_lake.load(name), older_than=timedelta(0)):
            drop_branch(sql_lake.catalog, left)
        return real(*args)

    monkeypatch.setattr(module, "rebase", housekeeping_first)
    with pytest.raises(RolledBack, match="is gone"):
        publish(sql_lake.catalog, [staged])
    assert sql_lake.rows(name) == [0, 1, 2, 9, 10, 11, 12]


def test_deletes_that_were_taken_back(sql_lake: Lake) -> None:
    """The rewrite has left out rows that are there again."""
    name = filled(sql_lake)
    before = head_of(sql_lake.load(name)) or 0
    files = files_of(sql_lake, name, 1)
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, files)])
    replacement = rewrite(sql_lake.load(name), 1)
    out = tuple(entry for entry in replacement.out if entry.data_file.file_path == files[0].file_path)
    assert len(replacement.deletes) == 1
    with sql_lake.load(name).manage_snapshots() as rollback:
        rollback.set_current_snapshot(snapshot_id=before)
    with pytest.raises(FilesTouched, match="not deleted any more"):
        stage(sql_lake, name, replace(replacement, out=out))


def test_superseded_is_for_steps(sql_lake: Lake) -> None:
    """A step that others came before has nothing left to do; a rewrite has."""
    name = filled(sql_lake)
    waiting = stage_append(sql_lake, name, {7: 1})
    staged = stage(sql_lake, name, rewrite(sql_lake.load(name), 1))
    append(sql_lake, name, {8: 1})
    with pytest.raises(Superseded):
        publish(sql_lake.catalog, [waiting])
    publish(sql_lake.catalog, [staged])
    assert sql_lake.rows(name) == [0, 1, 2, 8, 10, 11, 12]
