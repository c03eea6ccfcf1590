"""Files out, files in: a rewrite is put on `main` wherever that is by now, or refused; and nothing else changes.

Guarded mechanisms: rebase of a set of files, its bound, the look for rows that were removed since, manifests of delete
files, sequence numbers and origins of what stays, the read-back of what was written, the repeated seal.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFileContent, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table.snapshots import Operation

from lakehouse.iceberg.entries import EntryWriter, live_entries, partition_of, referenced_path
from lakehouse.proofs.lineage.sealed import made
from lakehouse.protocol.catalog import TableChange, remove_snapshots
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.commit import Replacement, Staged, publish, replace_snapshot, stage_replacement
from lakehouse.protocol.errors import ContentChanged, FilesTouched, ForeignCommit, MainMoved, RolledBack, Superseded
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import ancestry, head_of, last_seal, summary_of
from lakehouse_tests.fixtures.lakes import Lake
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

NOTES = {"operation": "rewrite", "proof": "abc"}


def upkeep() -> Attempt:
    return Attempt(run_id="upkeep", step="maintain:a", runtime_date="2026-01-01", code_version="9")


def filled(lake: Lake, **properties: str) -> str:
    """Two days, three files each."""
    name = create(lake, **properties)
    for n in range(3):
        append(lake, name, {n: 1, 10 + n: 2}, position=str(n))
    return name


def stage(lake: Lake, name: str, replacement: Replacement) -> Staged:
    return stage_replacement(lake.catalog, lake.bases(name)[name], upkeep(), replacement, NOTES)


def files_of(lake: Lake, name: str, day: int) -> list[Any]:
    return [e.data_file for e in entries(lake.load(name)).values() if partition_of(e.data_file)[1] == (day,)]


def before_each_rebase(monkeypatch: pytest.MonkeyPatch, do: Callable[[], None]) -> None:
    module = sys.modules[publish.__module__]
    real = module.rebase

    def first(*args: Any) -> Any:
        rebased = real(*args)
        do()
        return rebased

    monkeypatch.setattr(module, "rebase", first)


def test_a_day_in_one_file(lake: Lake) -> None:
    name = filled(lake)
    before = entries(lake.load(name))
    published = publish(lake.catalog, [stage(lake, name, rewrite(lake.load(name), 1))])
    table = lake.load(name)
    after = entries(table)
    assert lake.rows(name) == [0, 1, 2, 10, 11, 12]
    assert Counter(partition_of(e.data_file)[1] for e in after.values()) == {(1,): 1, (2,): 3}
    assert set(table.metadata.refs) == {"main"}
    snapshot = table.metadata.snapshot_by_id(head_of(table) or 0)
    assert snapshot
    assert snapshot.snapshot_id == published.snapshots[name]
    replaced = next(s for s in ancestry(table, snapshot.parent_snapshot_id))
    assert replaced.summary
    assert replaced.summary.operation is Operation.REPLACE
    summary = summary_of(replaced)
    assert summary["lakehouse.maintenance.operation"] == "rewrite"
    assert summary["lakehouse.maintenance.proof"] == "abc"
    assert (summary["total-data-files"], summary["total-records"]) == ("4", "6")
    assert (summary["added-data-files"], summary["deleted-data-files"]) == ("1", "3")
    assert set(before) - set(after) == {f.file_path for f in rewrite_out(before, 1)}


def rewrite_out(there: dict[str, ManifestEntry], day: int) -> list[Any]:
    return [e.data_file for e in there.values() if partition_of(e.data_file)[1] == (day,)]


def numbers(entry: ManifestEntry) -> tuple[int | None, int | None, int | None]:
    return entry.snapshot_id, entry.sequence_number, entry.file_sequence_number


@pytest.mark.parametrize("version", ["1", "2"])
def test_what_stays_keeps_its_origin_and_its_numbers(sql_lake: Lake, version: str) -> None:
    """Each file's snapshot and both sequence numbers; what comes has the number of what it was read from."""
    name = filled(sql_lake, **{"format-version": version})
    table = sql_lake.load(name)
    source = table.metadata.snapshot_by_id(head_of(table) or 0)
    before = entries(table)
    # A newer commit, so that the numbers of the source and of the rewrite's own commit are far apart.
    staged = stage(sql_lake, name, rewrite(table, 1))
    append(sql_lake, name, {20: 2})
    publish(sql_lake.catalog, [staged])
    after = entries(sql_lake.load(name))
    stayed = set(before) & set(after)
    assert len(stayed) == 3
    assert {path: numbers(after[path]) for path in stayed} == {path: numbers(before[path]) for path in stayed}
    (come,) = [e for e in after.values() if partition_of(e.data_file)[1] == (1,)]
    assert source
    if version == "2":
        assert come.sequence_number == source.sequence_number
        assert (come.file_sequence_number or 0) > (source.sequence_number or 0)
    assert sql_lake.rows(name) == [0, 1, 2, 10, 11, 12, 20]


@pytest.mark.parametrize("appends", [1, 5, 20])
def test_rebased_onto_appends(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch, appends: int) -> None:
    name = filled(sql_lake)
    staged = stage(sql_lake, name, rewrite(sql_lake.load(name), 1))
    left = list(range(100, 100 + appends))

    def another() -> None:
        if left:
            append(sql_lake, name, {left.pop(): 1})

    another()
    before_each_rebase(monkeypatch, another)
    assert publish(sql_lake.catalog, [staged]).rebases == appends
    assert sql_lake.rows(name) == [0, 1, 2, 10, 11, 12, *range(100, 100 + appends)]
    table = sql_lake.load(name)
    assert set(table.metadata.refs) == {"main"}
    assert len(files_of(sql_lake, name, 1)) == 1 + appends


def test_not_for_ever(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    name = filled(sql_lake)
    staged = stage(sql_lake, name, rewrite(sql_lake.load(name), 1))
    count = iter(range(100, 200))
    append(sql_lake, name, {next(count): 1})

    def another() -> None:
        append(sql_lake, name, {next(count): 1})

    before_each_rebase(monkeypatch, another)
    with pytest.raises(MainMoved, match="each of 20 rebases"):
        publish(sql_lake.catalog, [staged])
    assert sql_lake.rows(name) == [0, 1, 2, 10, 11, 12, *range(100, next(count))]
    assert len(files_of(sql_lake, name, 2)) == 3


def test_an_append_that_meets_a_rewrite_is_rebased_as_ever(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    waiting = stage_append(sql_lake, name, {7: 1}, position="7")
    publish(sql_lake.catalog, [stage(sql_lake, name, rewrite(sql_lake.load(name), 1))])
    assert publish(sql_lake.catalog, [waiting]).rebases == 1
    assert sql_lake.rows(name) == [0, 1, 2, 7, 10, 11, 12]
    sealed = last_seal(sql_lake.load(name))
    assert sealed
    assert sealed.seal.statement["position"] == "7"


TOUCHED = {
    "removed": lambda lake, name, files: replace_file(lake, name, files[0], {}),
    "replaced": lambda lake, name, files: replace_file(lake, name, files[0], {99: files[0].partition[0]}),
    "deletes of the partition": delete_rows,
    "deletes of one file": lambda lake, name, files: delete_rows(lake, name, files[:1], only=True),
    "deletes by value": lambda lake, name, files: delete_rows(lake, name, files[:1], equality=0),
}


@pytest.mark.parametrize("how", TOUCHED)
@pytest.mark.parametrize("day", [1, 2])
def test_rows_removed_meanwhile(sql_lake: Lake, how: str, day: int) -> None:
    """From files that were rewritten: refused, and the deletion stands. From another day: none of our business."""
    name = filled(sql_lake)
    staged = stage(sql_lake, name, rewrite(sql_lake.load(name), 1))
    publish(sql_lake.catalog, [TOUCHED[how](sql_lake, name, files_of(sql_lake, name, day))])
    there = entries(sql_lake.load(name))
    if day == 1:
        with pytest.raises(FilesTouched, match="since snapshot"):
            publish(sql_lake.catalog, [staged])
        assert set(entries(sql_lake.load(name))) == set(there)
    else:
        assert publish(sql_lake.catalog, [staged]).rebases == 1
        data = [e for e in entries(sql_lake.load(name)).values() if e.data_file.content == DataFileContent.DATA]
        assert len([e for e in data if partition_of(e.data_file)[1] == (1,)]) == 1
        if how != "deletes by value":  # PyIceberg does not read those
            gone = {"removed": 1, "replaced": 1, "deletes of the partition": 3, "deletes of one file": 1}[how]
            assert len(set(sql_lake.rows(name)) & {10, 11, 12}) == 3 - gone


def test_deletes_by_value_of_an_unpartitioned_table_are_for_every_file(sql_lake: Lake) -> None:
    name = create(sql_lake, spec=UNPARTITIONED_PARTITION_SPEC)
    append(sql_lake, name, {0: 1})
    append(sql_lake, name, {1: 2})
    staged = stage(sql_lake, name, rewrite(sql_lake.load(name), None))
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, [], equality=0)])
    with pytest.raises(FilesTouched):
        publish(sql_lake.catalog, [staged])


def test_deletes_by_value_without_a_partition_are_for_all_partitions(sql_lake: Lake) -> None:
    """Of a table that is not partitioned any more: such a delete is for files of every spec (specification)."""
    name = filled(sql_lake)
    staged = stage(sql_lake, name, rewrite(sql_lake.load(name), 1))
    with sql_lake.load(name).update_spec() as update:
        update.remove_field("day")
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, [], equality=0)])
    with pytest.raises(FilesTouched):
        publish(sql_lake.catalog, [staged])


def test_of_two_rewrites_of_the_same_files_one_takes_place(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    first, second = (stage(sql_lake, name, rewrite(sql_lake.load(name), 1)) for _ in range(2))
    other = stage(sql_lake, name, rewrite(sql_lake.load(name), 2))
    publish(sql_lake.catalog, [first])
    with pytest.raises(FilesTouched, match="3 of the files"):
        publish(sql_lake.catalog, [second])
    assert publish(sql_lake.catalog, [other]).rebases == 1
    assert sql_lake.rows(name) == [0, 1, 2, 10, 11, 12]
    assert [len(files_of(sql_lake, name, day)) for day in (1, 2)] == [1, 1]


def test_delete_files_go_and_stay_in_manifests_of_deletes(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    for day, only in ((1, True), (1, False), (2, True)):
        files = [f for f in files_of(sql_lake, name, day) if f.content == DataFileContent.DATA]
        publish(sql_lake.catalog, [delete_rows(sql_lake, name, files[:1] if only else files[1:], only=only)])
    rows, before = sql_lake.rows(name), entries(sql_lake.load(name))
    assert len(rows) == 2
    # All three in one manifest, of which one stays.
    publish(sql_lake.catalog, [stage(sql_lake, name, regrouped(sql_lake, name))])
    publish(sql_lake.catalog, [stage(sql_lake, name, rewrite(sql_lake.load(name), 1))])
    assert sql_lake.rows(name) == rows
    table = sql_lake.load(name)
    snapshot = table.metadata.snapshot_by_id(head_of(table) or 0)
    assert snapshot
    manifests = snapshot.manifests(table.io)
    (left,) = [e for e in entries(table).values() if e.data_file.content == DataFileContent.POSITION_DELETES]
    assert numbers(left) == numbers(before[left.data_file.file_path])
    assert referenced_path(left.data_file) == referenced_path(before[left.data_file.file_path].data_file)
    assert referenced_path(left.data_file) is not None
    assert {m.content for m in manifests} == {ManifestContent.DATA, ManifestContent.DELETES}
    for manifest in manifests:
        contents = {e.data_file.content for e in manifest.fetch_manifest_entry(table.io, discard_deleted=False)}
        data = manifest.content == ManifestContent.DATA
        assert contents == {DataFileContent.DATA if data else DataFileContent.POSITION_DELETES}
    replaced = summary_of(next(s for s in ancestry(table, snapshot.parent_snapshot_id)))
    assert (replaced["total-delete-files"], replaced["total-position-deletes"]) == ("1", "1")
    assert replaced["removed-position-deletes"] == "3"


def regrouped(lake: Lake, name: str) -> Replacement:
    table = lake.load(name)
    return Replacement.of_manifests(head_of(table) or 0, target_size=8 * 1024**2)


def test_what_was_written_is_read_before_it_is_published(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    name = filled(sql_lake)
    replacement, real, calls = rewrite(sql_lake.load(name), 1), EntryWriter.add_entry, iter(range(100))

    def loses_the_last(self: EntryWriter, entry: ManifestEntry) -> Any:
        return self if next(calls) == 5 else real(self, entry)

    monkeypatch.setattr(EntryWriter, "add_entry", loses_the_last)
    with pytest.raises(ContentChanged, match="1 entries"):
        stage(sql_lake, name, replacement)
    assert sql_lake.rows(name) == [0, 1, 2, 10, 11, 12]


def test_between_is_what_was_replaced(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    replacement = rewrite(sql_lake.load(name), 1)
    staged = stage(sql_lake, name, replacement)
    table = sql_lake.load(name)
    seal = table.metadata.snapshot_by_id(staged.head)
    assert seal
    assert seal.parent_snapshot_id
    between = Replacement.between(table, replacement.source, seal.parent_snapshot_id)
    assert {f.file_path for f in between.files_out} == {f.file_path for f in replacement.files_out}
    assert [(e.data_file.file_path, e.sequence_number) for e in between.into] == [
        (e.data_file.file_path, e.sequence_number) for e in replacement.into
    ]
    with pytest.raises(ForeignCommit, match="rewrites alone"):
        Replacement.between(table, replacement.source, staged.head)


def test_the_seal_says_again_what_the_step_said(sql_lake: Lake) -> None:
    """Also when the step's own seal has expired: the date is the content's, not that of the run that rearranged it."""
    name = filled(sql_lake)
    step = last_seal(sql_lake.load(name))
    assert step
    publish(sql_lake.catalog, [stage(sql_lake, name, rewrite(sql_lake.load(name), 1))])
    table = sql_lake.load(name)
    sealed = last_seal(table)
    assert sealed
    assert (sealed.seal.kind, sealed.seal.run_id, sealed.seal.step) == ("maintenance", "upkeep", "maintain:a")
    assert sealed.seal.previous == step.seal.digest
    expected = (step.seal.statement, step.seal.inputs, step.seal.runtime_date, step.seal.code_version)
    assert (sealed.seal.statement, sealed.seal.inputs, sealed.seal.runtime_date, sealed.seal.code_version) == expected
    assert made(table, head_of(table)).sealed == step

    kept = {head_of(table), sealed.snapshot_id}
    gone = [s.snapshot_id for s in table.metadata.snapshots if s.snapshot_id not in kept]
    sql_lake.catalog.commit_tables([TableChange(table.name(), (), (remove_snapshots(gone),))])
    table = sql_lake.load(name)
    answer = made(table, head_of(table)).seal
    assert answer
    assert answer.runtime_date == "2013-01-01"


def test_the_seal_is_that_of_the_newest_base(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    staged = stage(sql_lake, name, rewrite(sql_lake.load(name), 1))
    newest = append(sql_lake, name, {5: 1}, position="newest")
    publish(sql_lake.catalog, [staged])
    sealed = last_seal(sql_lake.load(name))
    assert sealed
    assert sealed.seal.statement["position"] == "newest"
    assert sealed.seal.previous == newest.seal.digest


def test_a_commit_that_nobody_sealed_is_not_hidden(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    staged = stage(sql_lake, name, rewrite(sql_lake.load(name), 1))
    sql_lake.load(name).append(sql_lake.load(name).scan("n == 0").to_arrow())
    with pytest.raises(ForeignCommit, match="outside the protocol"):
        publish(sql_lake.catalog, [staged])
    with pytest.raises(ForeignCommit, match="would hide"):
        stage(sql_lake, name, rewrite(sql_lake.load(name), 1))
    assert sql_lake.bases(name)[name].unsealed


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
    replacement = Replacement.between(sql_lake.load(name), head_of(table) or 0, parent_of(sql_lake, name, written.head))
    assert len(replacement.unconcerned) == 4
    read = manifests_read(monkeypatch)
    staged = stage(sql_lake, name, replace(replacement, head=None))
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
