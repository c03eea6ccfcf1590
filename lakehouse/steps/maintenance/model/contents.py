"""What lies in a table, as it was measured: files and rows, all together and by partition."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Partition:
    """One partition of one spec.

    Attributes:
        key: tells it from all others of the table, and shows none of its values.
        name: as a person reads it, `day=2013-01-01`; `***` where the value comes from a sensitive column.
        spec_id: the partition spec that its files were written with.
    """

    key: str
    name: str
    spec_id: int = 0


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What the metadata document says, with the count of manifests where that was asked for.

    Attributes:
        files: data files.
        bytes: of data and delete files.
        records: in data files, deleted ones among them.
        delete_files: of both kinds.
        position_deletes: rows that position deletes and delete vectors name.
        equality_deletes: rows of equality delete files.
        snapshots: all entries of the document.
        document_bytes: size of the document.
        manifests: in the newest snapshot; None where nobody looked.
        manifest_bytes: their sizes together.
    """

    files: int = 0
    bytes: int = 0
    records: int = 0
    delete_files: int = 0
    position_deletes: int = 0
    equality_deletes: int = 0
    snapshots: int = 0
    document_bytes: int = 0
    manifests: int | None = None
    manifest_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class PartitionState:
    """One partition's files, and how often it changes.

    Attributes:
        partition: which.
        files: data files; `fragments` are below an eighth of the target, `undersized` (fragments included) below the
            smallest and `oversized` above the largest size that the policy allows.
        bytes: of the data files; `undersized_bytes` and `oversized_bytes` of those alone.
        records: in data files.
        delete_files: that can apply here, `delete_bytes` of them.
        position_deletes: rows they name by position, dangling ones included.
        equality_deletes: rows of equality delete files.
        formats: file format → data files.
        foreign: files that the policy would write anew in another format, of whatever size; `foreign_bytes` of them.
            They are not among those of a wrong size.
        last_change: when a commit last added or removed files here, maintenance aside.
        changes_per_hour: such commits.
        rewritten: when files here were last written anew with the same rows; its last change may be hidden by that.
        ends: when the time that it stands for is over; None where it stands for none.
        unnameable: what of it Spark cannot be told; empty where it can.
        touched: data files that deletes apply to, `touched_bytes` of them; None where the tier of files was not read.
    """

    partition: Partition
    files: int = 0
    bytes: int = 0
    records: int = 0
    fragments: int = 0
    undersized: int = 0
    undersized_bytes: int = 0
    oversized: int = 0
    oversized_bytes: int = 0
    delete_files: int = 0
    delete_bytes: int = 0
    position_deletes: int = 0
    equality_deletes: int = 0
    formats: Mapping[str, int] = field(default_factory=dict[str, int])
    foreign: int = 0
    foreign_bytes: int = 0
    last_change: datetime | None = None
    changes_per_hour: float = 0.0
    rewritten: datetime | None = None
    ends: datetime | None = None
    unnameable: str = ""
    touched: int | None = None
    touched_bytes: int = 0
