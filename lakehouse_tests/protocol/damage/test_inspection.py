"""What cannot be read is named: the file, its table, and what is wrong with it.

Guarded mechanism: after a failure, every file of the snapshot is looked at.
"""

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import FileFormat

from lakehouse.protocol.commit import publish, stage_files
from lakehouse.protocol.damage.inspection import damages
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import head_of
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.rewrites import delete_rows

Harm = Callable[[Path], None]


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def spoil(path: Path) -> None:
    """The footer stays as it was."""
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\0" * (len(whole) // 4) + whole[4 + len(whole) // 4 :])


@pytest.fixture
def name(sql_lake: Lake) -> str:
    """A table of two files."""
    created = sql_lake.create("a")
    sql_lake.write("first", a=range(1000))
    sql_lake.write("second", a=[7])
    return created


def data_file(lake: Lake, name: str) -> Path:
    largest = max((task.file for task in lake.load(name).scan().plan_files()), key=lambda file: file.record_count)
    return Path(largest.file_path.removeprefix("file://"))


def manifest(lake: Lake, name: str) -> Path:
    table = lake.load(name)
    snapshot = table.current_snapshot()
    assert snapshot
    return Path(snapshot.manifests(table.io)[0].manifest_path.removeprefix("file://"))


def manifest_list(lake: Lake, name: str) -> Path:
    snapshot = lake.load(name).current_snapshot()
    assert snapshot
    return Path(snapshot.manifest_list.removeprefix("file://"))


@pytest.mark.parametrize(
    ("which", "harm", "kind"),
    [
        (data_file, empty, "unreadable_file"),
        (data_file, cut, "unreadable_file"),
        (data_file, spoil, "unreadable_file"),
        (data_file, Path.unlink, "missing_file"),
        (manifest, cut, "unreadable_file"),
        (manifest, Path.unlink, "missing_file"),
        (manifest_list, cut, "unreadable_file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    sql_lake: Lake, name: str, which: Callable[[Lake, str], Path], harm: Harm, kind: str
) -> None:
    table = sql_lake.load(name)
    assert damages(table, head_of(table)) == []
    path = which(sql_lake, name)
    harm(path)
    (damage,) = damages(sql_lake.load(name), head_of(table))
    assert (damage.kind, damage.table, Path(damage.path).name, damage.lost) == (kind, name, path.name, True)
    assert damage.message.startswith(f"{name}: ")
    assert path.name in damage.message


def test_a_delete_by_value_is_named_and_is_no_loss(sql_lake: Lake, name: str) -> None:
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, [], equality=0)])
    table = sql_lake.load(name)
    (damage,) = damages(table, head_of(table))
    assert (damage.kind, damage.table, damage.lost) == ("equality_delete", name, False)
    assert damage.path.rpartition("/")[2] in damage.message


def test_a_format_that_no_proof_reads_is_named_and_is_no_loss(sql_lake: Lake, name: str) -> None:
    base = sql_lake.bases(name)[name]
    (file,) = sql_lake.files(name, [9])
    file[2] = FileFormat.AVRO
    attempt = Attempt(run_id="r", step="avro")
    stage_files(sql_lake.catalog, base, attempt, [file])
    publish(sql_lake.catalog, [sql_lake.stage(base, attempt, [])])
    table = sql_lake.load(name)
    (damage,) = damages(table, head_of(table))
    assert (damage.kind, damage.table, damage.lost) == ("unread_format", name, False)
    assert f"{file.file_path.rpartition('/')[2]} is AVRO, which no proof can read. Remedy: set" in damage.message
    assert damages(table, head_of(table), depth="ends") == []


def test_a_byte_that_has_changed_in_its_place_is_found_by_reading_every_page(sql_lake: Lake, name: str) -> None:
    """In a file with checksums, as our workers and Spark write them: its end, its size and its rows look sound."""
    path, table = data_file(sql_lake, name), sql_lake.load(name)
    pq.write_table(pq.read_table(path), path, compression="none", use_dictionary=False, write_page_checksum=True)
    assert damages(table, head_of(table), depth="pages") == []
    whole = path.read_bytes()
    place = whole.index((777).to_bytes(8, "little"))
    path.write_bytes(whole[:place] + (778).to_bytes(8, "little") + whole[place + 8 :])
    assert damages(table, head_of(table), depth="ends") == []
    (damage,) = damages(table, head_of(table), depth="pages")
    assert (damage.kind, damage.lost) == ("changed_file", True)
    assert f"data file {path.name} cannot be read" in damage.message
