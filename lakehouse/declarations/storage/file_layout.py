"""How a writer distributes rows over files: chosen from how many partitions a batch touches, and what was measured.

Each writer has a file for each partition that it holds rows of. Undistributed, that is writers times partitions; by
`hash` each partition has one writer, so it is one file each and one writer does all of a large partition; by `range`
rows are sorted over all writers, which reads the batch twice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.transforms import BucketTransform

from lakehouse.declarations.policies.maintenance import Maintenance
from lakehouse.declarations.policies.rewrite import Rewrite
from lakehouse.declarations.storage.layout import HasLayout, partition_terms, sort_terms
from lakehouse.declarations.storage.measured_layouts import MEASURED, MeasuredAppend, Mode

DISTRIBUTION = "write.distribution-mode"
FANOUT = "write.spark.fanout.enabled"
# What a declaration stands for where no batch was seen yet; the same on every machine, or `apply` would go to and fro.
_CORES = 4
_BATCH = 64 * 1024**2
_PARTITIONS = 4
# A file of this part of the target is large enough that nobody need gather rows for a larger one.
_LARGE_ENOUGH = 4
# An open file holds a row group of its own in memory.
_MOST_OPEN = 100


@dataclass(frozen=True, kw_only=True)
class LayoutFacts:
    """What the choice goes by.

    Attributes:
        partitions_per_batch: that one append touches; 0 for a table without partitions.
        sort_order: whether the table has one.
        cores: that write at once.
        batch_bytes: of one append.
        target: bytes that a file should have.
    """

    partitions_per_batch: int
    sort_order: bool
    cores: int
    batch_bytes: int
    target: int


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The choice.

    Attributes:
        distribution_mode: `write.distribution-mode`.
        fanout: `write.spark.fanout.enabled`.
        because: why, in words.
        fanout_gain: how many times longer the other `fanout` took; 1 where that was not measured.
    """

    distribution_mode: Mode
    fanout: bool
    because: str
    fanout_gain: float = 1.0

    @property
    def properties(self) -> dict[str, str]:
        """As table properties."""
        return {DISTRIBUTION: self.distribution_mode, FANOUT: str(self.fanout).lower()}


def choose(facts: LayoutFacts, measured: Sequence[MeasuredAppend] = MEASURED, *, for_stream: bool = False) -> Layout:
    """Choose for a table; never a range for one that a stream's own workers write, who cannot do it."""
    mode, because = _mode(facts)
    if mode == "range" and for_stream:
        mode, because = "hash", "each partition is one sorted file of a worker"
    fanout, gain, measured_because = _fanout(facts, mode, measured)
    reason = f"{because}; {measured_because}"
    return Layout(distribution_mode=mode, fanout=fanout, because=reason, fanout_gain=gain)


def layout_properties(table: HasLayout, policy: Maintenance, *, for_stream: bool) -> dict[str, str]:
    """How writers distribute rows, by the policy, or chosen from the declaration; the same on every machine."""
    if policy.layout != "auto":
        return {DISTRIBUTION: policy.layout}
    target = (policy.rewrite or Rewrite()).target_file_size
    return choose(declared_facts(table, target), for_stream=for_stream).properties


def declared_facts(table: HasLayout, target: int) -> LayoutFacts:
    """What a declaration says of batches that nobody has seen yet."""
    terms = partition_terms(table)
    buckets = [term.transform.num_buckets for term in terms if isinstance(term.transform, BucketTransform)]
    return LayoutFacts(
        partitions_per_batch=(math.prod(buckets) if buckets else _PARTITIONS) if terms else 0,
        sort_order=bool(sort_terms(table)),
        cores=_CORES,
        batch_bytes=_BATCH,
        target=target,
    )


def _mode(facts: LayoutFacts) -> tuple[Mode, str]:
    parts = facts.partitions_per_batch
    if not parts:
        return ("range", "sorted over all files") if facts.sort_order else ("none", "no partitions to gather rows for")
    partition_bytes = facts.batch_bytes / parts
    if facts.sort_order:
        if partition_bytes > facts.target:
            return "range", f"{parts} partitions of more than a file each are sorted over their files"
        return "hash", f"each of {parts} partitions is one sorted file"
    if partition_bytes / facts.cores >= facts.target / _LARGE_ENOUGH:
        return "none", f"{facts.cores} writers make files that are large enough for each of {parts} partitions"
    return "hash", f"{parts} files, where {facts.cores} writers would make {parts * facts.cores}"


def _fanout(facts: LayoutFacts, mode: Mode, measured: Sequence[MeasuredAppend]) -> tuple[bool, float, str]:
    """Whether a file is open for each partition, how many times longer it takes otherwise, and why."""
    if facts.sort_order:
        return False, 1.0, "rows are sorted anyway, so one file is open at a time"
    nearest = _nearest(facts, [append for append in measured if append.mode == mode])
    seconds = {append.fanout: append.seconds for append in nearest}
    if len(seconds) == 2:
        reason = f"with {nearest[0].writers} writers and {nearest[0].partitions} partitions: {seconds[True]:.1f} s "
        reason += f"with a file open for each partition, {seconds[False]:.1f} s with sorting"
        return seconds[True] <= seconds[False], max(seconds.values()) / min(seconds.values()), reason
    open_files = facts.partitions_per_batch if mode == "none" else math.ceil(facts.partitions_per_batch / facts.cores)
    if open_files <= _MOST_OPEN:
        return True, 1.0, f"at most {open_files} files are open at once"
    return False, 1.0, f"{open_files} open files would need too much memory"


def _nearest(facts: LayoutFacts, measured: Sequence[MeasuredAppend]) -> list[MeasuredAppend]:
    """What was measured with the most similar numbers of writers and partitions."""

    def distance(append: MeasuredAppend) -> float:
        writers = abs(math.log(append.writers / max(facts.cores, 1)))
        return writers + abs(math.log(max(append.partitions, 1) / max(facts.partitions_per_batch, 1)))

    shortest = min((distance(append) for append in measured), default=0.0)
    return [append for append in measured if distance(append) == shortest]
