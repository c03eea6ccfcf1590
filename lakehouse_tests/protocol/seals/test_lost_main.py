"""A table that was published to and has no `main` any more is empty for every reader, and is not as a new one is.

Guarded mechanism: a seal that no attempt has on its branch was published.
"""

from pathlib import Path

from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.lost_main import lost_main
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.audit.document import Document, edit_document


def remove_main(lake: Lake, name: str) -> int:
    """As anybody can who may write; returns where it was."""
    table = lake.load(name)
    before = head_of(table)
    assert before is not None
    table.manage_snapshots().remove_branch("main").commit()
    return before


def test_a_main_that_was_removed_is_named_with_the_way_back(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1, 2])
    assert not lost_main(sql_lake.load(name))
    before = remove_main(sql_lake, name)
    assert sql_lake.rows(name) == []
    message = lost_main(sql_lake.load(name))
    assert message.startswith(f"{name}: its branch `main` is gone")
    assert f"set_current_snapshot('{name}', {before})" in message
    sql_lake.load(name).manage_snapshots().create_branch(before, "main").commit()
    assert (lost_main(sql_lake.load(name)), sql_lake.rows(name)) == ("", [1, 2])


def test_it_is_named_also_where_the_log_of_main_has_gone_with_it(sql_lake: Lake, tmp_path: Path) -> None:
    """As `CREATE OR REPLACE TABLE` leaves it."""
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    sql_lake.write("second", a=[2])
    before = remove_main(sql_lake, name)

    def forget(document: Document) -> None:
        document["snapshot-log"] = []

    edit_document(tmp_path / "catalog.db", name, forget)
    assert f"'{name}', {before})" in lost_main(sql_lake.load(name))


def test_a_table_to_which_nobody_has_published_is_new(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    assert not lost_main(sql_lake.load(name))
    attempt = Attempt("killed", "write:a")
    sql_lake.stage(sql_lake.bases(name)[name], attempt, [1])
    assert not lost_main(sql_lake.load(name)), "an attempt that was sealed and never published"


def test_rows_that_nobody_sealed_are_anybodys_to_remove(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    table = sql_lake.load(name)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in sql_lake.files(name, [1]):
            append.append_data_file(file)
    remove_main(sql_lake, name)
    assert not lost_main(sql_lake.load(name))
