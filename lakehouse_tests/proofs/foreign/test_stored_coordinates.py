"""What is read of a table: every row's coordinates, once, whatever else it holds."""

from pyiceberg.table import Table

from lakehouse.proofs.foreign.coordinate_columns import CoordinateColumns
from lakehouse.proofs.foreign.stored_coordinates import (
    StoredCoordinates,
    count_rows,
    listed_files,
    repeated_keys,
    stored_coordinates,
)
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.foreign.tables import rows, table_of

ALL = CoordinateColumns("topic", "partition", "offset")


def stored(table: Table, columns: CoordinateColumns = ALL) -> StoredCoordinates:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return stored_coordinates(table, snapshot, columns, "birds")


def test_rows_of_other_topics_and_without_coordinates_are_counted_apart(sql_lake: Lake) -> None:
    table = table_of(
        sql_lake,
        [*rows(0, [0, 1]), *rows(1, [5]), ("fish", 0, 0), ("fish", None, None), (None, 0, 9), ("birds", 0, None)],
    )
    read = stored(table)
    assert {partition: runs.rows for partition, runs in read.partitions.items()} == {0: 2, 1: 1}
    assert (read.of_others, read.without) == (2, 2)
    # Without the column, nobody can tell them apart.
    assert stored(table, CoordinateColumns(None, "partition", "offset")).partitions[0].rows == 4


def test_deleted_rows_do_not_count(sql_lake: Lake) -> None:
    table = table_of(sql_lake, rows(0, range(5)))
    table.delete("offset = 3")
    assert stored(table).partitions[0].rows == 4
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert count_rows(table, snapshot, listed_files(table, snapshot)) == 4


def test_each_file_is_known_with_the_commits_that_list_it(sql_lake: Lake) -> None:
    table = table_of(sql_lake, rows(0, [0]), rows(0, [1]))
    snapshot = table.current_snapshot()
    assert snapshot is not None
    files = listed_files(table, snapshot)
    assert sorted(files.added_by) == sorted(set(stored(table).files))
    assert {ids[0] for ids in files.added_by.values()} == {s.snapshot_id for s in table.metadata.snapshots}
    assert files.repeated == {}
    assert repeated_keys(table, snapshot, ("name",)) == 0
    assert repeated_keys(table, snapshot, ("topic", "partition")) == 1
