"""What a table holds, by manifests where they can tell, and by a scan of the coordinate columns where they cannot.

A data file whose lower and upper bounds name one partition, and whose offsets span exactly as many numbers as it has
rows, is *dense*: it holds every offset of its span once. That is believed only of files that a sealed attempt wrote;
whoever else wrote one may have doubled a row and lost another between the same bounds.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import cast

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.table import FileScanTask, Table
from pyiceberg.types import PrimitiveType

from lakehouse import seal_keys
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.engines.kafka.tally import Tally
from lakehouse.proofs.audit.chain import KIND_DEDUPLICATE
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION, TOPIC, coordinates_there, sealed_numbers
from lakehouse.proofs.audit.findings import DecidedBy
from lakehouse.protocol.seals.attempt import written_by_attempt
from lakehouse.protocol.seals.history import ancestry, attempt_of, is_rewrite, summary_of


@dataclass
class StoredRows:
    """One partition's rows in one table."""

    tally: Tally = field(default_factory=Tally)
    first: int | None = None
    sources: set[str] = field(default_factory=set[str])

    def add(self, tally: Tally, first: int, source: str) -> None:
        """Count more rows."""
        self.tally = self.tally + tally
        self.first = first if self.first is None else min(self.first, first)
        self.sources.add(source)

    @property
    def decided_by(self) -> DecidedBy:
        """In one word."""
        return cast("DecidedBy", " and ".join(sorted(self.sources)) or "empty")


@dataclass(frozen=True)
class Holdings:
    """Partition → what is there; and files that are not as they should be.

    Args:
        repeated_files: that are listed more than once, with how often.
        missing_files: that storage lacks (when scanned).
        unreadable_files: that are no whole files of their kind (when scanned), with why.
        without: rows that have no coordinates, as those of another writer.
    """

    partitions: dict[int, StoredRows]
    repeated_files: dict[str, int]
    missing_files: set[str] = field(default_factory=set[str])
    unreadable_files: dict[str, str] = field(default_factory=dict[str, str])
    without: int = 0


def holdings(
    table: Table, snapshot_id: int | None, numbers: TopicNumbers | None = None, *, scan: bool = False
) -> Holdings:
    """Take stock of a table at a snapshot.

    Args:
        table: a loaded table with the coordinate columns.
        snapshot_id: which snapshot; None for a table without any.
        numbers: of the stream's topics; None: as the table's newest seal has them.
        scan: read the coordinate columns of every file, even where manifests could decide.
    """
    if snapshot_id is None:
        return Holdings({}, {})
    numbers = sealed_numbers(table) if numbers is None else numbers
    tasks = list(table.scan(snapshot_id=snapshot_id).plan_files())
    paths = Counter(task.file.file_path for task in tasks)
    trusted = set[str]() if scan else _sealed_files(table, snapshot_id)
    by_partition: dict[int, StoredRows] = {}
    undecided: list[FileScanTask] = []
    for task in tasks:
        is_whole = task.file.file_path in trusted and not task.delete_files
        dense = _dense_range(table, task.file, numbers) if is_whole else None
        if dense is None:
            undecided.append(task)
        else:
            partition, start, end = dense
            by_partition.setdefault(partition, StoredRows()).add(Tally.of_range(start, end), start, "manifests")
    scanned = coordinates_there(table, undecided, numbers)
    for partition, offsets in scanned.offsets.items():
        by_partition.setdefault(partition, StoredRows()).add(Tally.of(offsets), int(offsets.min()), "scan")
    repeated = {path: times for path, times in paths.items() if times > 1}
    return Holdings(by_partition, repeated, set(scanned.missing), dict(scanned.damaged), scanned.without)


def _sealed_files(table: Table, snapshot_id: int) -> set[str]:
    """Files that came in by a commit of ours; of expired commits those that bear the name of an attempt.

    An ingest refuses to go on after a commit that nobody sealed, but it does after a rewrite, which may have doubled
    one row and lost another. Files that a rewrite made do not have our names. A deduplicating rewrite took rows away,
    and whether it took the right ones is what the audit asks.
    """
    history = {snapshot.snapshot_id: snapshot for snapshot in ancestry(table, snapshot_id)}
    snapshot = history.get(snapshot_id)
    if snapshot is None:
        return set()
    rewrote = {attempt_of(s) for s in history.values() if summary_of(s).get(seal_keys.KIND) == KIND_DEDUPLICATE}
    attempt_snapshots = {i for i, s in history.items() if attempt_of(s) not in {None, *rewrote} and not is_rewrite(s)}
    return {
        entry.data_file.file_path
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
        if entry.snapshot_id in attempt_snapshots
        or (entry.snapshot_id not in history and written_by_attempt(entry.data_file.file_path))
    }


def _dense_range(table: Table, file: DataFile, numbers: TopicNumbers | None) -> tuple[int, int, int] | None:
    """Partition, first offset and end of a file that holds every offset in between once; None if bounds cannot tell."""
    partition, offset = _bounds(table, file, PARTITION), _bounds(table, file, OFFSET)
    if partition is None or offset is None or partition[0] != partition[1]:
        return None
    start, last = int(offset[0]), int(offset[1])
    if last - start + 1 != file.record_count:
        return None
    if numbers is None or not numbers.many:
        return int(partition[0]), start, last + 1
    topic = _bounds(table, file, TOPIC)
    if topic is None or topic[0] != topic[1] or topic[0] not in numbers.names:
        return None
    return numbers.stream_partition(str(topic[0]), int(partition[0])), start, last + 1


def _bounds(table: Table, file: DataFile, column: str) -> tuple[int | str, int | str] | None:
    field = table.schema().find_field(column)
    lower, upper = (file.lower_bounds or {}).get(field.field_id), (file.upper_bounds or {}).get(field.field_id)
    if lower is None or upper is None:
        return None
    kind = cast("PrimitiveType", field.field_type)
    return from_bytes(kind, lower), from_bytes(kind, upper)
