"""How well a table is, as one number that can be drawn over time. Nothing is decided by it.

Amoro's score (amoro-ams, `AbstractOptimizingEvaluator`): of 100 points, 40 are lost to files that are too small, 40 to
equality deletes and 20 to position deletes, and less of all by how small the table is, so that a tiny one is healthy.
Where partitions were counted it is the mean of theirs by files: that of a partition with one file is as good as it can
be, however many such partitions there are. And many files are no trifle because they are tiny: size counts, or number.
"""

from collections.abc import Sequence

from lakehouse.declarations import Maintenance, Rewrite
from lakehouse.steps.maintenance.model.state import MeasuredState, Partition, PartitionState

PERFECT = 100.0
_SMALL, _EQUALITY, _POSITION = 40.0, 40.0, 20.0
_MOST_EQUALITY_DELETED, _MOST_POSITION_DELETED = 0.1, 0.2
_FEW_FILES = 12
_MANY_FILES = 120
_WHOLE = Partition(key="", name="the whole table")


def health(state: MeasuredState, policy: Maintenance) -> float:
    """0 to 100 by the policy's sizes, or by the usual ones where nothing is rewritten."""
    rewrite = policy.rewrite or Rewrite()
    if state.partitions is None:
        totals = state.totals
        counted = PartitionState(
            partition=_WHOLE,
            files=totals.files,
            bytes=totals.bytes,
            records=totals.records,
            position_deletes=totals.position_deletes,
            equality_deletes=totals.equality_deletes,
        )
        return round(_score([counted], rewrite), 1)
    return round(_score(state.partitions, rewrite), 1)


def _score(partitions: Sequence[PartitionState], rewrite: Rewrite) -> float:
    files = sum(one.files for one in partitions)
    if not files:
        return PERFECT
    lost = sum(one.files * _lost(one, rewrite) for one in partitions) / files
    return PERFECT - lost


def _lost(one: PartitionState, rewrite: Rewrite) -> float:
    if not one.files or not one.records:
        return 0.0
    mean = one.bytes / one.files
    small = 1 - min(mean / rewrite.min_file_size, 1.0) if one.files > 1 else 0.0
    equality = min(one.equality_deletes / one.records / _MOST_EQUALITY_DELETED, 1.0)
    position = min(one.position_deletes / one.records / _MOST_POSITION_DELETED, 1.0)
    large = min(max(one.bytes / rewrite.min_file_size, one.files / _MANY_FILES), 1.0)
    weight = min(one.files / _FEW_FILES, 1.0) * large
    return weight * (_SMALL * small + _EQUALITY * equality + _POSITION * position)
