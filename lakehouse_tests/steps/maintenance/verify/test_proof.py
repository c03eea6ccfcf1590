"""A rewrite that changes rows is refused before anybody sees it; one that does not, is proven.

Guarded mechanism: the comparison of digests of the files that go, less what is deleted of them, and of those that come.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import DataFileContent, ManifestEntry, ManifestEntryStatus
from pyiceberg.table import Table

from lakehouse.iceberg.entries import PartitionKey
from lakehouse.protocol.commit import Replacement, publish
from lakehouse.protocol.errors import ContentChanged
from lakehouse.steps.maintenance.verify import proof
from lakehouse.steps.maintenance.verify.proof import Prover, RewriteProof
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.rewrites import append, create, delete_rows, entries, rewrite

pytestmark = pytest.mark.slow

Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


def prove(table: Table, replacement: Replacement) -> RewriteProof:
    def named(key: PartitionKey) -> str:
        return f"day={key[1][0]}"

    return Prover(table, 0, None, 8 * 1024**3, named).prove(replacement)


def filled(lake: Lake) -> str:
    name = create(lake)
    for n in range(4):
        append(lake, name, {n: 1, 10 + n: 2})
    return name


def into(table: Table, rows: list[dict[str, Any]]) -> tuple[ManifestEntry, ...]:
    schema = pa.schema([("n", pa.int64()), ("s", pa.string()), ("day", pa.int32())])
    entries: list[ManifestEntry] = []
    for file in _dataframe_to_data_files(table.metadata, pa.Table.from_pylist(rows, schema), table.io):
        file.spec_id = table.metadata.default_spec_id
        entries.append(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, sequence_number=1, data_file=file))
    return tuple(entries)


def rewritten(table: Table, change: Change) -> Replacement:
    """Both days in one file each, with something wrong."""
    honest = rewrite(table, None)
    rows = table.scan().to_arrow().sort_by("n").to_pylist()
    return replace(honest, into=into(table, change(rows)))


def test_the_same_rows_are_proven(sql_lake: Lake) -> None:
    table = sql_lake.load(filled(sql_lake))
    proofs = [
        prove(table, rewrite(table, None)),
        prove(table, rewritten(table, lambda rows: rows)),
        prove(table, rewritten(table, lambda rows: rows[::-1])),
    ]
    assert {(proof.rows, proof.engine) for proof in proofs} == {(8, "polars")}
    assert len({proof.digest for proof in proofs}) == 1


def lost(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return rows[1:]


def doubled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*rows, rows[0]]


def one_in_the_place_of_another(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rows[1], *rows[1:]]


def changed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rows[0] | {"s": "other"}, *rows[1:]]


def nulled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rows[0] | {"s": None}, *rows[1:]]


def moved_to_another_row(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rows[0] | {"s": rows[1]["s"]}, rows[1] | {"s": rows[0]["s"]}, *rows[2:]]


def moved_to_another_partition(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rows[0] | {"day": 2}, *rows[1:]]


def everything_lost(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["day"] == 2]


@pytest.mark.parametrize(
    "change",
    [
        lost,
        doubled,
        one_in_the_place_of_another,
        changed,
        nulled,
        moved_to_another_row,
        moved_to_another_partition,
        everything_lost,
    ],
)
def test_other_rows_are_refused(sql_lake: Lake, change: Change) -> None:
    table = sql_lake.load(filled(sql_lake))
    with pytest.raises(ContentChanged, match="day=1: 4 rows before"):
        prove(table, rewritten(table, change))


@pytest.mark.parametrize("only", [True, False])
def test_what_is_deleted_stays_deleted(sql_lake: Lake, only: bool) -> None:
    """Rows that a delete file names must not come back, and those that it does not must stay."""
    name = filled(sql_lake)
    files = [e.data_file for e in entries(sql_lake.load(name)).values() if e.data_file.partition[0] == 1]
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, files[:1] if only else files[:2], only=only)])
    table = sql_lake.load(name)
    left = 7 if only else 6
    assert prove(table, rewritten(table, lambda rows: rows)).rows == left

    gone = {"n": next(iter({0, 1, 2, 3} - set(sql_lake.rows(name)))), "day": 1}
    with pytest.raises(ContentChanged):
        prove(table, rewritten(table, lambda rows: [*rows, {**gone, "s": str(gone["n"])}]))


def test_a_partition_of_which_every_row_is_deleted(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    files = [e.data_file for e in entries(sql_lake.load(name)).values() if e.data_file.partition[0] == 1]
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, files)])
    table = sql_lake.load(name)
    assert prove(table, rewritten(table, lambda rows: rows)).rows == 4


@pytest.mark.parametrize("only", [True, False])
def test_deletes_that_are_still_needed_may_not_go(sql_lake: Lake, only: bool) -> None:
    """The rows that they delete in a file that stays would be back, and no file that is read would show it."""
    name = filled(sql_lake)
    files = [e.data_file for e in entries(sql_lake.load(name)).values() if e.data_file.partition[0] == 1]
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, files[:1] if only else files[:2], only=only)])
    table = sql_lake.load(name)
    whole_day = rewrite(table, 1)
    assert prove(table, whole_day).rows == (3 if only else 2)
    stays = files[0].file_path  # in which a row is deleted
    out = tuple(entry for entry in whole_day.out if entry.data_file.file_path != stays)
    with pytest.raises(ContentChanged, match="delete files went that apply"):
        prove(table, replace(whole_day, out=out))


def test_rows_that_nobody_has_read_are_not_proven(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is the same as nothing."""
    table = sql_lake.load(filled(sql_lake))
    monkeypatch.setattr(proof, "content", lambda *_: {})
    with pytest.raises(ContentChanged, match="0 rows were found in files that should hold 8"):
        prove(table, rewrite(table, None))


def test_a_column_that_was_added_since(sql_lake: Lake) -> None:
    """Files of before show it as null, as those that come do."""
    name = filled(sql_lake)
    replacement = rewrite(sql_lake.load(name), None)
    with sql_lake.load(name).update_schema() as update:
        from pyiceberg.types import StringType

        update.add_column("more", StringType())
    assert prove(sql_lake.load(name), replacement).rows == 8


def test_another_partitioning_is_compared_as_a_whole(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    honest = rewrite(sql_lake.load(name), None)
    with sql_lake.load(name).update_spec() as update:
        update.add_identity("n")
    table = sql_lake.load(name)
    rows = table.scan().to_arrow().to_pylist()
    assert prove(table, replace(honest, into=into(table, rows))).rows == 8
    with pytest.raises(ContentChanged, match="all partitions together: 8 rows before, 7 after"):
        prove(table, replace(honest, into=into(table, rows[1:])))


def test_only_data_files_that_go_are_read(sql_lake: Lake) -> None:
    """A file of another partition that is not there any more is of no concern."""
    table = sql_lake.load(filled(sql_lake))
    other = next(e.data_file for e in entries(table).values() if e.data_file.partition[0] == 2)
    assert other.content == DataFileContent.DATA
    replacement = rewrite(table, 1)
    table.io.delete(other.file_path)
    assert prove(table, replacement).rows == 4
