"""A topic as the proofs see it, without a broker; that they see a real one so is asked in `test_record_log.py`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from lakehouse.engines.kafka.records import CommittedRecords
from lakehouse.engines.kafka.second_look import OffsetGap
from lakehouse.engines.kafka.topics import PartitionRange
from lakehouse.proofs.foreign.record_log import RecordLog


def topic_with(
    records: Mapping[int, Sequence[int]],
    *,
    tombstones: Mapping[int, Sequence[int]] | None = None,
    earliest: int = 0,
    ends: Mapping[int, int] | None = None,
    compacted: bool = False,
    positions: Mapping[int, int] | None = None,
) -> RecordLog:
    """A topic with records at these offsets; its partitions end behind the last of them."""
    empty = dict[int, Sequence[int]]()
    without = tombstones or empty
    partitions = {
        partition: PartitionRange(
            earliest, (ends or {}).get(partition, max([earliest - 1, *offsets, *without.get(partition, ())]) + 1)
        )
        for partition, offsets in records.items()
    }

    def read(ranges: Iterable[OffsetGap]) -> Iterator[CommittedRecords]:
        for gap in ranges:
            assert partitions[gap.partition].earliest <= gap.start < gap.end <= partitions[gap.partition].last_stable
            wanted = range(gap.start, gap.end)
            offsets = sorted(
                offset for offset in (*records[gap.partition], *without.get(gap.partition, ())) if offset in wanted
            )
            has_value = [offset in records[gap.partition] for offset in offsets]
            yield CommittedRecords(gap.partition, np.array(offsets, np.int64), np.array(has_value, np.bool_))

    return RecordLog("birds", partitions, compacted, read, positions or {})
