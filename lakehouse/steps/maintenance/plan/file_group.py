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


def file_group(one: PartitionState, rewrite: Rewrite) -> FileGroup:
    """What Spark's procedure takes: files of a wrong size or format, and those that deletes apply to."""
    if one.foreign:  # all of it is written anew
        return _group(one, rewrite, files=one.files, size=one.bytes)
    touched = min(one.files, one.delete_files) if one.touched is None else one.touched
    touched_bytes = one.touched_bytes if one.touched is not None else _share(one.bytes, touched, one.files)
    small = one.undersized if one.undersized > 1 or one.delete_files else 0
    small_bytes = one.undersized_bytes if small else 0
    files = min(one.files, max(small + one.oversized, touched))
    size = min(one.bytes, max(small_bytes + one.oversized_bytes, touched_bytes))
    return _group(one, rewrite, files=files, size=size)


def first_files(one: PartitionState, rewrite: Rewrite, most: int) -> FileGroup | None:
    """What it takes of a partition that is too large for one run, the files that are too small first.

    None where it has to be all or nothing, since files of another format can only be written anew with all others.
    """
    if one.undersized > 1:
        share = min(1.0, most / max(one.undersized_bytes, 1))
        size = int(one.undersized_bytes * share)
        files = max(int(one.undersized * share), 2)
        return FileGroup(files=files, deletes=0, bytes=size, written=math.ceil(size / rewrite.target_file_size))
    if one.foreign:
        return None
    whole = file_group(one, rewrite)
    share = min(1.0, most / max(whole.bytes, 1))
    files, deletes, size = (int(part * share) for part in (whole.files, whole.deletes, whole.bytes))
    return FileGroup(files=max(files, 1), deletes=deletes, bytes=size, written=math.ceil(whole.written * share))


def _group(one: PartitionState, rewrite: Rewrite, *, files: int, size: int) -> FileGroup:
    return FileGroup(
        files=files,
        deletes=one.delete_files if files else 0,
        bytes=size + one.delete_bytes,
        written=math.ceil(size / rewrite.target_file_size) if files else 0,
    )


def _share(size: int, part: int, whole: int) -> int:
    return size * part // whole if whole else 0
