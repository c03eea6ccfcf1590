"""Files out, files in: a rewrite is put on `main` wherever that is by now, or refused; and nothing else changes.

Guarded mechanisms: rebase of a set of files, its bound, the look for rows that were removed since, manifests of delete
files, sequence numbers and origins of what stays, the read-back of what was written, the repeated seal.
"""

from collections import Counter
from typing import Any

import pytest
from pyiceberg.manifest import DataFileContent, ManifestContent, ManifestEntry
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table.snapshots import Operation

from lakehouse.iceberg.entries import EntryWriter, partition_of, referenced_path
from lakehouse.proofs.lineage.sealed import made
from lakehouse.protocol.catalog import TableChange, remove_snapshots
from lakehouse.protocol.commit import Replacement, publish
from lakehouse.protocol.errors import ContentChanged, FilesTouched, ForeignCommit, MainMoved
from lakehouse.protocol.seals.history import ancestry, head_of, last_seal, summary_of
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
    said = summary_of(replaced)
    assert said["lakehouse.maintenance.operation"] == "rewrite"
    assert said["lakehouse.maintenance.proof"] == "abc"
    assert (said["total-data-files"], said["total-records"]) == ("4", "6")
    assert (said["added-data-files"], said["deleted-data-files"]) == ("1", "3")
    assert set(before) - set(after) == {f.file_path for f in rewrite_out(before, 1)}


def rewrite_out(there: dict[str, ManifestEntry], day: int) -> list[Any]:
    return [e.data_file for e in there.values() if partition_of(e.data_file)[1] == (day,)]


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
    found = last_seal(sql_lake.load(name))
    assert found
    assert found.seal.statement["position"] == "7"


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
    found = Replacement.between(table, replacement.source, seal.parent_snapshot_id)
    assert {f.file_path for f in found.files_out} == {f.file_path for f in replacement.files_out}
    assert [(e.data_file.file_path, e.sequence_number) for e in found.into] == [
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
    found = last_seal(table)
    assert found
    assert (found.seal.kind, found.seal.run_id, found.seal.step) == ("maintenance", "upkeep", "maintain:a")
    assert found.seal.previous == step.seal.digest
    expected = (step.seal.statement, step.seal.inputs, step.seal.runtime_date, step.seal.code_version)
    assert (found.seal.statement, found.seal.inputs, found.seal.runtime_date, found.seal.code_version) == expected
    assert made(table, head_of(table)).sealed == step

    kept = {head_of(table), found.snapshot_id}
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
    found = last_seal(sql_lake.load(name))
    assert found
    assert found.seal.statement["position"] == "newest"
    assert found.seal.previous == newest.seal.digest


def test_a_commit_that_nobody_sealed_is_not_hidden(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    staged = stage(sql_lake, name, rewrite(sql_lake.load(name), 1))
    sql_lake.load(name).append(sql_lake.load(name).scan("n == 0").to_arrow())
    with pytest.raises(ForeignCommit, match="outside the protocol"):
        publish(sql_lake.catalog, [staged])
    with pytest.raises(ForeignCommit, match="would hide"):
        stage(sql_lake, name, rewrite(sql_lake.load(name), 1))
    assert sql_lake.bases(name)[name].unsealed
