"""Tables of another writer, written here by PyIceberg: what makes a verdict, and which commits it names."""

from collections.abc import Sequence

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.types import NestedField, StringType

from lakehouse.proofs.foreign import ColumnNames, ForeignProof, ForeignQuestion, audit_foreign
from lakehouse.proofs.foreign.audit import UnknownKey
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.foreign.tables import plain_table, rows, table_of
from lakehouse_tests.proofs.foreign.topic import topic_with

FIVE = topic_with({0: range(5)})


def audit(*tables: Table, **question: tuple[str, ...]) -> ForeignProof:
    return audit_foreign(tables, FIVE, ForeignQuestion(**question))  # pyright: ignore[reportArgumentType]


def append_again(table: Table, paths: Sequence[str]) -> None:
    """List files a second time, as a sink does that commits what it has committed."""
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        assert isinstance(append, _FastAppendFiles)
        for task in table.scan().plan_files():
            if task.file.file_path in paths:
                append.append_data_file(task.file)


def test_rows_of_each_record_are_a_proof(sql_lake: Lake) -> None:
    proof = audit(table_of(sql_lake, rows(0, [0, 1, 2]), [*rows(0, [3, 4]), ("fish", 0, 0)]))
    assert (proof.verdict, proof.decided_by, proof.rows) == ("proven", "coordinates", 5)


def test_a_record_in_two_commits_names_both(sql_lake: Lake) -> None:
    table = table_of(sql_lake, rows(0, [0, 1, 2]), rows(0, [2, 3, 4]))
    proof = audit(table)
    (finding,) = proof.findings
    assert (proof.verdict, finding.offsets) == ("disproved", "2")
    for snapshot in table.metadata.snapshots:
        assert f"snapshot {snapshot.snapshot_id}" in finding.message


def test_each_record_may_be_in_one_of_several_tables(sql_lake: Lake) -> None:
    odd, even = table_of(sql_lake, rows(0, [1, 3])), table_of(sql_lake, rows(0, [0, 2, 4]), name="b")
    assert audit(odd).verdict == "disproved"
    assert audit(odd, even).verdict == "proven"
    both = audit(odd, even, table_of(sql_lake, rows(0, [1]), name="c"))
    (finding,) = both.findings
    assert finding.kind == "repeated"
    assert f"{sql_lake.namespace}.a snapshot" in finding.message
    assert f"{sql_lake.namespace}.c snapshot" in finding.message


def test_a_file_that_is_listed_twice_disproves_without_any_coordinates(sql_lake: Lake) -> None:
    table = plain_table(sql_lake, ["a", "b"])
    append_again(table, [task.file.file_path for task in table.scan().plan_files()])
    proof = audit(table)
    assert (proof.verdict, proof.decided_by) == ("disproved", "list of files")
    finding = proof.findings[0]
    assert finding.kind == "file_listed_twice"
    for snapshot in table.metadata.snapshots:
        assert f"snapshot {snapshot.snapshot_id}" in finding.message


def test_rows_without_coordinates_leave_it_open(sql_lake: Lake) -> None:
    proof = audit(table_of(sql_lake, rows(0, range(5)), [(None, None, None)]))
    assert proof.verdict == "open"
    assert "1 row without coordinates" in proof.undecided[0]


def test_without_coordinates_the_key_is_counted(sql_lake: Lake) -> None:
    five = plain_table(sql_lake, list("abcde"))
    assert audit(five).verdict == "open"
    assert "InsertField" in audit(five).undecided[0]
    assert audit(five, key=("name",)).verdict == "proven"
    doubled = audit(plain_table(sql_lake, list("abcdd"), "doubled"), key=("name",))
    assert doubled.verdict == "open"
    assert audit(plain_table(sql_lake, list("abcdee"), "more"), key=("name",)).verdict == "disproved"
    with pytest.raises(UnknownKey, match="has no column nest"):
        audit(five, key=("nest",))


def test_identifier_fields_are_the_key(sql_lake: Lake) -> None:
    keyed = Schema(NestedField(1, "name", StringType(), required=True), identifier_field_ids=[1])
    empty = sql_lake.load(sql_lake.create("keyed", keyed))
    assert "0 rows of 5 records" in audit(empty).undecided[0], "a table without a snapshot holds nothing"
    table = plain_table(sql_lake, list("abcde"))
    with table.update_schema(allow_incompatible_changes=True) as update:
        update.update_column("name", required=True)
        update.set_identifier_fields("name")
    assert audit(sql_lake.load(f"{sql_lake.namespace}.plain")).verdict == "proven"


def test_columns_may_be_named(sql_lake: Lake) -> None:
    table = table_of(sql_lake, rows(0, range(5)))
    with table.update_schema() as update:
        update.rename_column("offset", "place")
    renamed = sql_lake.load(f"{sql_lake.namespace}.a")
    assert audit(renamed).decided_by == "key and count"
    named = ColumnNames(partition="partition", offset="place")
    proof = audit_foreign([renamed], FIVE, ForeignQuestion(named))
    assert (proof.verdict, proof.decided_by) == ("proven", "coordinates")
