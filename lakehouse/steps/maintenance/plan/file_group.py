"""Which files of a partition a rewrite takes: by their sizes, formats, and what deletes rows of them."""

import math
from dataclasses import dataclass

from lakehouse.declarations import Rewrite
from lakehouse.steps.maintenance.model.state import PartitionState


@dataclass(frozen=True)
class FileGroup:
    """What a rewrite takes of one partition.

    Attributes:
        files: data files out.
        deletes: delete files out.
        bytes: that are read.
        written: files in.
    """

    files: int
    deletes: int
    bytes: int
    written: int

    @property
    def fewer(self) -> int:
        """Files that there are less."""
        return self.files + self.deletes - self.written


def file_group(partition: PartitionState, rewrite: Rewrite) -> FileGroup:
    """What Spark's procedure takes: files of a wrong size or format, and those that deletes apply to."""
    if partition.foreign:  # all of it is written anew
        return _group(partition, rewrite, files=partition.files, size=partition.bytes)
    touched = min(partition.files, partition.delete_files) if partition.touched is None else partition.touched
    touched_bytes = (
        partition.touched_bytes if partition.touched is not None else _share(partition.bytes, touched, partition.files)
    )
    small = partition.undersized if partition.undersized > 1 or partition.delete_files else 0
    small_bytes = partition.undersized_bytes if small else 0
    files = min(partition.files, max(small + partition.oversized, touched))
    size = min(partition.bytes, max(small_bytes + partition.oversized_bytes, touched_bytes))
    return _group(partition, rewrite, files=files, size=size)


def first_files(partition: PartitionState, rewrite: Rewrite, max_bytes: int) -> FileGroup | None:
    """What it takes of a partition that is too large for one run, the files that are too small first.

    None where it has to be all or nothing, since files of another format can only be written anew with all others.
    """
    if partition.undersized > 1:
        share = min(1.0, max_bytes / max(partition.undersized_bytes, 1))
        size = int(partition.undersized_bytes * share)
        files = max(int(partition.undersized * share), 2)
        return FileGroup(files=files, deletes=0, bytes=size, written=math.ceil(size / rewrite.target_file_size))
    if partition.foreign:
        return None
    group = file_group(partition, rewrite)
    share = min(1.0, max_bytes / max(group.bytes, 1))
    files, deletes, size = (int(amount * share) for amount in (group.files, group.deletes, group.bytes))
    return FileGroup(files=max(files, 1), deletes=deletes, bytes=size, written=math.ceil(group.written * share))


def _group(partition: PartitionState, rewrite: Rewrite, *, files: int, size: int) -> FileGroup:
    return FileGroup(
        files=files,
        deletes=partition.delete_files if files else 0,
        bytes=size + partition.delete_bytes,
        written=math.ceil(size / rewrite.target_file_size) if files else 0,
    )


def _share(size: int, part: int, whole: int) -> int:
    return size * part // whole if whole else 0
