"""Which delete files apply: both answers against the words of the specification, and against PyIceberg's plan."""

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table.delete_file_index import DeleteFileIndex
from pyiceberg.transforms import IdentityTransform, VoidTransform
from pyiceberg.typedef import Record
from pyiceberg.types import StringType

from lakehouse.iceberg.delete_files import Applying, can_apply, is_global
from lakehouse.iceberg.entries import PartitionKey, partition_of

UNPARTITIONED, BY_DAY, BY_NOTHING = range(3)
SPECS = {
    UNPARTITIONED: PartitionSpec(spec_id=UNPARTITIONED),
    BY_DAY: PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "day"), spec_id=BY_DAY),
    BY_NOTHING: PartitionSpec(PartitionField(3, 1000, VoidTransform(), "day"), spec_id=BY_NOTHING),
}
PLACES: list[PartitionKey] = [(UNPARTITIONED, ()), (BY_DAY, (1,)), (BY_DAY, (None,)), (BY_NOTHING, (None,))]
PATHS = ["a", "b"]
POSITION, EQUALITY = DataFileContent.POSITION_DELETES, DataFileContent.EQUALITY_DELETES
_PATH = 2147483546


def entry(
    place: PartitionKey, number: int, path: str, content: DataFileContent = DataFileContent.DATA, only: str = ""
) -> ManifestEntry:
    """A file in a partition; `only` names the one data file that it deletes from."""
    bounds = {_PATH: to_bytes(StringType(), only)} if only else None
    file = DataFile.from_args(
        content=content,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(*place[1]),
        record_count=1,
        file_size_in_bytes=1,
        lower_bounds=bounds,
        upper_bounds=bounds,
    )
    file.spec_id = place[0]
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.EXISTING, snapshot_id=1, sequence_number=number, data_file=file
    )


PLACE, NUMBER = st.sampled_from(PLACES), st.integers(1, 4)
DATA = st.builds(entry, PLACE, NUMBER, st.sampled_from(PATHS))
BY_POSITION = st.builds(entry, PLACE, NUMBER, st.just("d"), st.just(POSITION))
BY_PATH = st.builds(entry, PLACE, st.just(4), st.just("d"), st.just(POSITION), st.sampled_from(PATHS))
BY_VALUE = st.builds(entry, PLACE, NUMBER, st.just("d"), st.just(EQUALITY))
DELETES = st.one_of(BY_POSITION, BY_PATH, BY_VALUE)


def specified(deletes: ManifestEntry, data: ManifestEntry) -> bool:
    """The specification, "Scan Planning", word by word; what names a path was written after that file."""
    file = deletes.data_file
    same_partition = partition_of(file) == partition_of(data.data_file)
    if file.content is EQUALITY:
        unpartitioned = file.spec_id in (UNPARTITIONED, BY_NOTHING)
        return (same_partition or unpartitioned) and number(data) < number(deletes)
    if file.lower_bounds:
        return file.lower_bounds[_PATH].decode() == data.data_file.file_path
    return same_partition and number(data) <= number(deletes)


def number(of: ManifestEntry) -> int:
    assert of.sequence_number is not None
    return of.sequence_number


@given(st.lists(DELETES, max_size=4), DATA)
def test_a_delete_file_applies_as_the_specification_says(deletes: list[ManifestEntry], data: ManifestEntry) -> None:
    assert Applying.of(deletes, SPECS).to(data) == any(specified(each, data) for each in deletes)


@given(DELETES, st.lists(DATA, max_size=3))
def test_it_can_apply_where_it_applies_to_a_file_of_before(deletes: ManifestEntry, data: list[ManifestEntry]) -> None:
    older: list[Any] = [entry(partition_of(each.data_file), 0, each.data_file.file_path) for each in data]
    paths = {each.data_file.file_path for each in data}
    partitions = {partition_of(each.data_file) for each in data}
    answer = can_apply(deletes.data_file, SPECS, paths, partitions)
    assert answer == any(Applying.of([deletes], SPECS).to(each) for each in older)


@given(st.lists(st.one_of(BY_POSITION, BY_PATH), max_size=4), DATA)
def test_deletes_by_position_are_those_that_pyiceberg_plans(deletes: list[ManifestEntry], data: ManifestEntry) -> None:
    assume(partition_of(data.data_file)[1] != (None,))
    index = DeleteFileIndex()
    for each in deletes:
        index.add_delete_file(each, each.data_file.partition)
    planned = index.for_data_file(number(data), data.data_file, data.data_file.partition)
    assert Applying.of(deletes, SPECS).to(data) == bool(planned)


def test_only_deletes_by_value_are_for_all_partitions() -> None:
    assert [spec_id for spec_id, spec in SPECS.items() if is_global(EQUALITY, spec)] == [UNPARTITIONED, BY_NOTHING]
    assert not any(is_global(POSITION, spec) for spec in SPECS.values())
