"""Which files a rewrite takes of a partition, and how many come out."""

from lakehouse.declarations import Rewrite
from lakehouse.steps.maintenance.plan.file_group import file_group, first_files
from lakehouse_tests.steps.maintenance.states import MIB, TARGET, part

REWRITE = Rewrite()


def test_small_files_become_as_few_as_their_bytes_fill() -> None:
    group = file_group(part(files=100, size=3 * MIB), REWRITE)
    assert (group.files, group.written, group.fewer) == (100, 3, 97)


def test_files_that_deletes_touch_are_taken_and_the_deletes_go() -> None:
    partition = part(files=4, size=TARGET, delete_files=3, touched=2, touched_bytes=2 * TARGET)
    group = file_group(partition, REWRITE)
    assert (group.files, group.deletes, group.bytes, group.written) == (2, 3, 2 * TARGET, 2)
    assert file_group(part(files=4, size=TARGET), REWRITE).files == 0


def test_of_a_partition_that_is_too_large_a_part_is_taken() -> None:
    partition = part(files=1200, size=10 * MIB)
    whole, half = file_group(partition, REWRITE), first_files(partition, REWRITE, 6000 * MIB)
    assert half
    assert (half.bytes, half.files) == (whole.bytes // 2, whole.files // 2)
    assert half.written == -(-6000 // 128)
