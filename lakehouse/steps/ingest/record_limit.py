"""How many records a run may take: the cap in bytes, told in records by what the records of this very range weigh.

What records weighed in earlier runs says little: a topic whose records grew from 100 bytes to a megabyte would be read
by terabytes at once. So the range is sampled at its begin, middle and end; where these differ, a smaller one is tried.
"""

from collections.abc import Callable, Mapping

from lakehouse.declarations import Stream
from lakehouse.engines.kafka.statement import Counts
from lakehouse.engines.kafka.topics import PartitionRange
from lakehouse.settings import IngestSettings

UNKNOWN_RECORD_BYTES = 1024
LARGEST_BYTES = 1024 * 1024  # what Kafka takes of a record without being told otherwise
_PLACES = (0.0, 0.5, 0.98)
_ALIKE = 2  # times

Sample = Callable[[Mapping[int, int]], float]
"""Partition → offset: the mean size in bytes of the first records from there on; 0.0 where there are none."""


def limits_of(limits: IngestSettings, stream: Stream) -> IngestSettings:
    """The settings' limits of a run, but for what the stream's own trigger says."""
    most = stream.trigger.max_records_per_run
    return limits if most is None else limits.model_copy(update={"max_records_per_run": most})


def record_limit(
    limits: IngestSettings,
    partitions: Mapping[int, PartitionRange],
    position: Mapping[int, int],
    past: Counts,
    sample: Sample,
) -> int:
    """How many records a run may take, at least one.

    Args:
        limits: of a run, in records and in bytes.
        partitions: what the topic holds.
        position: partition → the next offset to read; the earliest where there is none.
        past: records since the beginning, for a range in which no record can be sampled.
        sample: looks at records.
    """
    starts = {partition: max(position.get(partition, 0), ends.earliest) for partition, ends in partitions.items()}
    unread = {partition: max(0, partitions[partition].last_stable - start) for partition, start in starts.items()}
    total = sum(unread.values())
    records = min(total, limits.max_records_per_run)
    if records * LARGEST_BYTES <= limits.max_bytes_per_run:
        return limits.max_records_per_run
    while True:
        sizes = [
            size
            for place in _PLACES
            if (size := sample({p: start + int(unread[p] * place * records / total) for p, start in starts.items()}))
        ]
        largest = max(sizes, default=past.bytes / past.read if past.read else UNKNOWN_RECORD_BYTES)
        by_bytes = max(1, int(limits.max_bytes_per_run / max(1.0, largest)))
        if records <= by_bytes or largest <= _ALIKE * min(sizes, default=largest):
            return min(by_bytes, records)
        records = max(by_bytes, records // 4)
