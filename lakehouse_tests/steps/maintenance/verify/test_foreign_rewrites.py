"""A commit of somebody else that calls itself a rewrite: believed where its rows are compared, and named where not.

Guarded mechanism: the rows of the files that went against those of the files that came.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import (
    DataFile,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    write_manifest_list,
)
from pyiceberg.types import LongType

from lakehouse.iceberg.entries import EntryWriter, live_entries
from lakehouse.protocol.commit import publish, seal_branch, stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.foreign_rewrites import foreign_rewrites
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.maintenance.verify.foreign_rewrites import (
    RewritesProof,
    audit_rewrites,
    prove_release,
)
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.iceberg.claims.doctored import set_claim, set_column_claim
from lakehouse_tests.proofs.audit.document import Document, ancestry, edit_document
from lakehouse_tests.protocol.commit.rewrites import delete_rows

ENOUGH = 1024**3


@pytest.fixture
def name(sql_lake: Lake) -> str:
    """A table of two files: 1, 2 and 3."""
    created = sql_lake.create("a")
    sql_lake.write("first", a=[1, 2])
    sql_lake.write("second", a=[3])
    return created


def rewrite(lake: Lake, name: str, rows: Sequence[int], folder: Path) -> int:
    """Other rows in the place of all files, by one commit that calls itself a rewrite; returns its snapshot."""
    table = lake.load(name)
    with table.transaction() as transaction, transaction.update_snapshot().overwrite() as overwrite:
        for task in table.scan().plan_files():
            overwrite.delete_data_file(task.file)
        for file in lake.files(name, rows):
            overwrite.append_data_file(file)

    def as_rewrite(document: Document) -> None:
        ancestry(document)[0]["summary"]["operation"] = "replace"

    edit_document(folder / "catalog.db", name, as_rewrite)
    return head_of(lake.load(name)) or 0


def audit(lake: Lake, name: str, *, in_process: int = ENOUGH) -> RewritesProof:
    return audit_rewrites(lake.load(name), in_process=in_process)


def test_the_same_rows_in_other_files_are_proven(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    assert audit(sql_lake, name) == RewritesProof(name)
    snapshot_id = rewrite(sql_lake, name, [3, 2, 1], tmp_path)
    assert audit(sql_lake, name) == RewritesProof(name, proven=(snapshot_id,))


@pytest.mark.parametrize("rows", [[1, 2, 4], [1, 2], [1, 2, 3, 3]])
def test_a_value_that_was_changed_is_named_also_below_newer_seals(
    sql_lake: Lake, name: str, rows: list[int], tmp_path: Path
) -> None:
    snapshot_id = rewrite(sql_lake, name, rows, tmp_path)
    sql_lake.write("third", a=[5])
    proof = audit(sql_lake, name)
    assert (proof.holds, proof.proven, proof.unproven) == (False, (), ())
    (finding,) = proof.findings
    assert (finding.kind, finding.table) == ("rewrite_changed_rows", name)
    assert finding.message.startswith(
        f"{name}: snapshot {snapshot_id}, a rewrite from outside the protocol, does not hold"
    )


def test_what_nobody_can_compare_is_named_with_the_reason(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    snapshot_id = rewrite(sql_lake, name, [1, 2, 3], tmp_path)
    (message,) = audit(sql_lake, name, in_process=10).unproven
    assert (
        f"{name}: snapshot {snapshot_id}, a rewrite from outside the protocol, is not proven to hold the same rows"
        in message
    )
    assert "bytes would have to be read" in message

    def forget(document: Document) -> None:
        gone = [entry["snapshot-id"] for entry in ancestry(document)[1:]]
        for key in ("snapshots", "snapshot-log"):
            document[key] = [entry for entry in document[key] if entry["snapshot-id"] not in gone]

    edit_document(tmp_path / "catalog.db", name, forget)
    (message,) = audit(sql_lake, name).unproven
    assert "the entry of that one has expired" in message


def test_deletes_by_value_are_a_reason_and_a_lost_file_is_a_finding(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, [], equality=0)])
    before = [entry["file_path"] for entry in sql_lake.load(name).inspect.data_files().to_pylist()]
    assert before
    assert audit(sql_lake, name).holds
    other = sql_lake.create("b")
    sql_lake.write("b", b=[1, 2])
    (lost,) = [task.file.file_path for task in sql_lake.load(other).scan().plan_files()]
    rewrite(sql_lake, other, [2, 1], tmp_path)
    Path(lost.removeprefix("file://")).unlink()
    (finding,) = audit(sql_lake, other).findings
    assert (finding.kind, Path(lost).name in finding.message) == ("missing_file", True)


def relist(
    lake: Lake,
    name: str,
    folder: Path,
    *,
    times: int = 1,
    later: int = 0,
    alter: Callable[[DataFile], object] = lambda file: file,
) -> int:
    """All data files in a new manifest, by a commit that calls itself a rewrite; returns its snapshot.

    Args:
        lake: where the table lives.
        name: of the table.
        folder: of the catalog's database.
        times: how often each file is listed.
        later: by how much its sequence number is another one.
        alter: changes what is claimed of each file.
    """
    table = lake.load(name)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifests = snapshot.manifests(table.io)
    data = [manifest for manifest in manifests if manifest.content == ManifestContent.DATA]
    number, snapshot_id = (snapshot.sequence_number or 0) + 1, snapshot.snapshot_id + 1
    place = f"{table.location()}/metadata/{snapshot_id}"
    with EntryWriter(
        table.spec(), table.schema(), table.io.new_output(f"{place}-m0.avro"), snapshot_id, "null"
    ) as writer:
        for manifest in data:
            for entry in list(live_entries(table.io, manifest)) * times:
                alter(entry.data_file)
                kept = ManifestEntry.from_args(
                    status=ManifestEntryStatus.EXISTING,
                    snapshot_id=entry.snapshot_id,
                    sequence_number=(entry.sequence_number or 0) + later,
                    file_sequence_number=entry.file_sequence_number,
                    data_file=entry.data_file,
                )
                writer.existing(kept)
    output = table.io.new_output(f"{place}.avro")
    with write_manifest_list(2, output, snapshot_id, snapshot.snapshot_id, number, "null") as written:
        deletes = [manifest for manifest in manifests if manifest.content == ManifestContent.DELETES]
        written.add_manifests([writer.to_manifest_file(), *deletes])

    def commit(document: Document) -> None:
        last = ancestry(document)[0]
        ids = {"snapshot-id": snapshot_id, "parent-snapshot-id": last["snapshot-id"], "sequence-number": number}
        listed = {"manifest-list": f"{place}.avro", "summary": {"operation": "replace"}}
        document["snapshots"].append({**last, **ids, **listed})
        document["refs"]["main"]["snapshot-id"] = document["current-snapshot-id"] = snapshot_id
        document["last-sequence-number"] = number
        document["snapshot-log"].append({"snapshot-id": snapshot_id, "timestamp-ms": last["timestamp-ms"]})

    edit_document(folder / "catalog.db", name, commit)
    return snapshot_id


def test_the_same_files_in_other_manifests_are_proven(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    snapshot_id = relist(sql_lake, name, tmp_path)
    assert audit(sql_lake, name) == RewritesProof(name, proven=(snapshot_id,))
    assert sql_lake.rows(name) == [1, 2, 3]


def test_a_file_that_is_listed_twice_is_named(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    relist(sql_lake, name, tmp_path, times=2)
    assert sql_lake.rows(name) == [1, 1, 2, 2, 3, 3]
    (finding,) = audit(sql_lake, name).findings
    assert (finding.kind, "is listed 2 times" in finding.message) == ("rewrite_changed_rows", True)


OTHER_CLAIMS: dict[str, Callable[[DataFile], None]] = {
    "lower bound": lambda file: set_column_claim(file, "lower_bounds", 1, to_bytes(LongType(), 100)),
    "upper bound": lambda file: set_column_claim(file, "upper_bounds", 1, to_bytes(LongType(), 0)),
    "null count": lambda file: set_column_claim(file, "null_value_counts", 1, file.record_count),
    "row count": lambda file: set_claim(file, "record_count", 10 * file.record_count),
    "file size": lambda file: set_claim(file, "file_size_in_bytes", 10),
    "file format": lambda file: set_claim(file, "file_format", FileFormat.ORC),
}


@pytest.mark.parametrize("claim", OTHER_CLAIMS)
def test_a_file_that_is_listed_with_another_claim_is_named(
    sql_lake: Lake, name: str, claim: str, tmp_path: Path
) -> None:
    """Readers leave out its rows, or count others, and no file has changed."""
    snapshot_id = relist(sql_lake, name, tmp_path, alter=OTHER_CLAIMS[claim])
    (finding,) = audit(sql_lake, name).findings
    assert (finding.kind, f"snapshot {snapshot_id}" in finding.message) == ("rewrite_changed_rows", True)
    assert f"is listed with another {claim}" in finding.message


def drop_bounds(file: DataFile) -> None:
    for attribute in ("lower_bounds", "upper_bounds"):
        set_claim(file, attribute, None)


def test_bounds_that_are_left_out_are_no_wrong_claim_and_new_ones_are_proven(
    sql_lake: Lake, name: str, tmp_path: Path
) -> None:
    dropped = relist(sql_lake, name, tmp_path, alter=drop_bounds)
    assert audit(sql_lake, name) == RewritesProof(name, proven=(dropped,))
    sound = relist(
        sql_lake,
        name,
        tmp_path,
        alter=partial(set_column_claim, attribute="lower_bounds", field_id=1, value=to_bytes(LongType(), 1)),
    )
    assert audit(sql_lake, name) == RewritesProof(name, proven=(sound, dropped))
    relist(sql_lake, name, tmp_path, alter=drop_bounds)
    relist(sql_lake, name, tmp_path, alter=OTHER_CLAIMS["upper bound"])
    (finding,) = audit(sql_lake, name).findings
    assert "is listed with a wrong upper bound of column n" in finding.message


def test_a_file_that_was_written_anew_is_as_it_is_listed(
    sql_lake: Lake, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows are there, and who looks for one of them does not find it."""
    real = Lake.files

    def doctored(lake: Lake, name: str, numbers: Sequence[int]) -> list[DataFile]:
        files = real(lake, name, numbers)
        for file in files:
            OTHER_CLAIMS["lower bound"](file)
        return files

    monkeypatch.setattr(Lake, "files", doctored)
    rewrite(sql_lake, name, [3, 2, 1], tmp_path)
    (finding,) = audit(sql_lake, name).findings
    assert finding.kind == "rewrite_changed_rows"
    assert "is listed with a wrong lower bound of column n" in finding.message


def test_rows_that_come_back_as_their_deletes_do_not_apply_are_named(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    files = [task.file for task in sql_lake.load(name).scan().plan_files()]
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, files)])
    assert sql_lake.rows(name) == [2]
    relist(sql_lake, name, tmp_path, later=10)
    assert sql_lake.rows(name) == [1, 2, 3]
    (finding,) = audit(sql_lake, name).findings
    assert (finding.kind, "another sequence number" in finding.message) == ("rewrite_changed_rows", True)


def test_what_a_tag_keeps_is_proven_where_main_has_gone_on(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    """A table computed anew in full owes nothing to what was before; who reads the tag does."""
    snapshot_id = rewrite(sql_lake, name, [1, 2, 4], tmp_path)
    sql_lake.load(name).manage_snapshots().create_tag(snapshot_id, "release-x").commit()
    base = sql_lake.bases(name)[name]
    attempt = Attempt("run", "write:a")
    stage_files(sql_lake.catalog, base, attempt, sql_lake.files(name, [7]))
    seal = Seal.of(attempt, "write", statement={"write.mode": "overwrite"}, previous=None)
    publish(sql_lake.catalog, [seal_branch(sql_lake.catalog, base, attempt, seal)])
    assert not list(foreign_rewrites(sql_lake.load(name), head_of(sql_lake.load(name))))
    assert [finding.kind for finding in audit(sql_lake, name).findings] == ["rewrite_changed_rows"]


def test_what_was_released_before_is_not_proven_again(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    changed = rewrite(sql_lake, name, [1, 2, 4], tmp_path)
    same = rewrite(sql_lake, name, [4, 2, 1], tmp_path)
    table = sql_lake.load(name)
    assert [finding.kind for finding in prove_release(table, same, (), in_process=ENOUGH).findings] == [
        "rewrite_changed_rows"
    ]
    assert prove_release(table, same, (changed,), in_process=ENOUGH) == RewritesProof(name, proven=(same,))
