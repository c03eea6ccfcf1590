"""A commit of somebody else that calls itself a rewrite: believed where its rows are compared, and named where not.

Guarded mechanism: the rows of the files that went against those of the files that came.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from lakehouse.commit import publish
from lakehouse.commit.history import head_of
from lakehouse.maintenance.foreign_rewrites import RewritesProof, audit_rewrites
from lakehouse_tests.audit.document import Document, ancestry, edit_document
from lakehouse_tests.commit.rewrites import delete_rows
from lakehouse_tests.fixtures.lakes import Lake

ENOUGH = 1024**3


@pytest.fixture
def name(sql_lake: Lake) -> str:
    """A table of two files: 1, 2 and 3."""
    found = sql_lake.create("a")
    sql_lake.write("first", a=[1, 2])
    sql_lake.write("second", a=[3])
    return found


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
    at = rewrite(sql_lake, name, [3, 2, 1], tmp_path)
    assert audit(sql_lake, name) == RewritesProof(name, proven=(at,))


@pytest.mark.parametrize("rows", [[1, 2, 4], [1, 2], [1, 2, 3, 3]])
def test_a_value_that_was_changed_is_named_also_below_newer_seals(
    sql_lake: Lake, name: str, rows: list[int], tmp_path: Path
) -> None:
    at = rewrite(sql_lake, name, rows, tmp_path)
    sql_lake.write("third", a=[5])
    proof = audit(sql_lake, name)
    assert (proof.holds, proof.proven, proof.unproven) == (False, (), ())
    (finding,) = proof.findings
    assert (finding.kind, finding.table) == ("rewrite_changed_rows", name)
    assert finding.message.startswith(f"{name}: snapshot {at}, a rewrite from outside the protocol, does not hold")


def test_what_nobody_can_compare_is_named_with_the_reason(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    at = rewrite(sql_lake, name, [1, 2, 3], tmp_path)
    (told,) = audit(sql_lake, name, in_process=10).unproven
    assert f"{name}: snapshot {at}, a rewrite from outside the protocol, is not proven to hold the same rows" in told
    assert "bytes would have to be read" in told

    def forget(document: Document) -> None:
        gone = [one["snapshot-id"] for one in ancestry(document)[1:]]
        for key in ("snapshots", "snapshot-log"):
            document[key] = [one for one in document[key] if one["snapshot-id"] not in gone]

    edit_document(tmp_path / "catalog.db", name, forget)
    (told,) = audit(sql_lake, name).unproven
    assert "the entry of that one has expired" in told


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
