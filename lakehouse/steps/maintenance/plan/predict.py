"""What an action brings and costs, before it is done: from what was measured, and from what was learnt."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.declarations import Rewrite
from lakehouse.steps.maintenance.model.action import Operation, Predicted
from lakehouse.steps.maintenance.model.state import MeasuredState, PartitionState
from lakehouse.steps.maintenance.plan.cost_model import Experience

# Slopes of `make bench`: what a manifest and a file add to the planning of a scan, a snapshot to a commit.
PLAN_MS_PER_MANIFEST = 1.0
PLAN_MS_PER_FILE = 0.08
COMMIT_MS_PER_SNAPSHOT = 0.3
_SECONDS_PER_SNAPSHOT = 0.001  # to find and delete what only an expired snapshot reached


@dataclass(frozen=True)
class Taken:
    """What a rewrite takes from one partition.

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


def taken(one: PartitionState, rewrite: Rewrite) -> Taken:
    """What Spark's procedure takes: files of a wrong size or format, and those that deletes apply to."""
    if one.foreign:  # all of it is written anew
        return _taken(one, rewrite, files=one.files, size=one.bytes)
    touched = min(one.files, one.delete_files) if one.touched is None else one.touched
    touched_bytes = one.touched_bytes if one.touched is not None else _share(one.bytes, touched, one.files)
    small = one.undersized if one.undersized > 1 or one.delete_files else 0
    small_bytes = one.undersized_bytes if small else 0
    files = min(one.files, max(small + one.oversized, touched))
    size = min(one.bytes, max(small_bytes + one.oversized_bytes, touched_bytes))
    return _taken(one, rewrite, files=files, size=size)


def begun(one: PartitionState, rewrite: Rewrite, most: int) -> Taken | None:
    """What it takes of a partition that is too large for one run, the files that are too small first.

    None where it has to be all or nothing, since files of another format can only be written anew with all others.
    """
    if one.undersized > 1:
        share = min(1.0, most / max(one.undersized_bytes, 1))
        size = int(one.undersized_bytes * share)
        files = max(int(one.undersized * share), 2)
        return Taken(files=files, deletes=0, bytes=size, written=math.ceil(size / rewrite.target_file_size))
    if one.foreign:
        return None
    whole = taken(one, rewrite)
    share = min(1.0, most / max(whole.bytes, 1))
    files, deletes, size = (int(part * share) for part in (whole.files, whole.deletes, whole.bytes))
    return Taken(files=max(files, 1), deletes=deletes, bytes=size, written=math.ceil(whole.written * share))


def _taken(one: PartitionState, rewrite: Rewrite, *, files: int, size: int) -> Taken:
    return Taken(
        files=files,
        deletes=one.delete_files if files else 0,
        bytes=size + one.delete_bytes,
        written=math.ceil(size / rewrite.target_file_size) if files else 0,
    )


def rewriting(state: MeasuredState, chosen: Sequence[tuple[PartitionState, Taken]], known: Experience) -> Predicted:
    """Of a rewrite that takes so much of some partitions."""
    size = sum(one.bytes for _, one in chosen)
    fewer = sum(one.fewer for _, one in chosen)
    seconds = known.speed(Operation.REWRITE).seconds(size, sum(one.files + one.deletes for _, one in chosen))
    manifests = state.totals.manifests or 0
    out = sum(one.files + one.deletes for _, one in chosen)
    all_files = max(state.totals.files + state.totals.delete_files, 1)
    gone = max(int(manifests * out / all_files) - 1, 0)
    return Predicted(
        files_removed=fewer,
        bytes=size,
        seconds=round(seconds, 1),
        plan_ms=round((fewer * PLAN_MS_PER_FILE + gone * PLAN_MS_PER_MANIFEST) * known.plan_factor, 1),
    )


def regrouping(state: MeasuredState, left: int, known: Experience) -> Predicted:
    """Of regrouping manifests, of which so many are left."""
    fewer = max((state.totals.manifests or 0) - left, 0)
    size = state.totals.manifest_bytes
    return Predicted(
        files_removed=fewer,
        bytes=size,
        seconds=round(size / known.usual.bytes_per_second + 1, 1),
        plan_ms=round(fewer * PLAN_MS_PER_MANIFEST * known.plan_factor, 1),
    )


def expiring(snapshots: int, known: Experience) -> Predicted:
    """Of letting so many snapshots go; each has a list of manifests of its own."""
    return Predicted(
        files_removed=snapshots,
        seconds=round(1 + snapshots * _SECONDS_PER_SNAPSHOT, 1),
        commit_ms=round(snapshots * COMMIT_MS_PER_SNAPSHOT * known.commit_factor, 1),
    )


def reading(size: int, operation: Operation, known: Experience) -> Predicted:
    """Of an operation that reads so many bytes and makes no file fewer."""
    return Predicted(bytes=size, seconds=round(known.speed(operation).seconds(size), 1))


def _share(size: int, part: int, whole: int) -> int:
    return size * part // whole if whole else 0
