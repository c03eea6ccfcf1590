"""What looks at a table's files have found, remembered in `lakehouse.orphans` from one look to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table

from lakehouse import seal_keys
from lakehouse.declarations import ORPHANS
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Missing, append_absent
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.orphans.listing import ListedFile

Event = Literal["candidate", "reprieved", "deleted"]
KIND = "orphans"
_ORDER = {"reprieved": 0, "candidate": 1, "deleted": 2}


class OrphanEntry(msgspec.Struct, frozen=True, rename={"timestamp": "at"}):
    """One row: a file in one look. What each field says is told by the table."""

    timestamp: datetime
    path: str
    bytes: int
    modified_at: datetime
    event: str
    longest_run_s: float


@dataclass(frozen=True)
class Noted:
    """What is remembered of one file.

    Args:
        since: the look that first found it an orphan, of those since something last knew it.
        bytes: its size then.
        modified_at: when it had been written.
    """

    since: datetime
    bytes: int
    modified_at: datetime

    def is_of(self, file: ListedFile) -> bool:
        """Whether it is the same file still, and no other of this name."""
        return (self.bytes, self.modified_at) == (file.bytes, file.modified_at)


@dataclass(frozen=True)
class OrphanHistory:
    """What earlier looks at a table have noted.

    Args:
        orphans: path → the look that first found it, for files that were orphans at their last look.
        longest_run: the longest run that was ever known.
        last: when the table was looked at last and something was noted.
    """

    orphans: Mapping[str, Noted]
    longest_run: timedelta = timedelta(0)
    last: datetime | None = None


@dataclass(frozen=True)
class Note:
    """One row: what a look says of a file."""

    path: str
    file: ListedFile
    event: Event


def recall(catalog: LakeCatalog, uuid: str) -> OrphanHistory:
    """What earlier looks at a table have noted.

    Raises:
        NoSuchTableError: `lakehouse.orphans` does not exist.
    """
    orphans: dict[str, Noted] = {}
    longest, last = 0.0, None
    for row in looked(catalog, uuid):
        longest, last = max(longest, row.longest_run_s), row.timestamp
        if row.event == "reprieved":
            orphans.pop(row.path, None)
        elif row.event == "candidate":
            orphans[row.path] = Noted(row.timestamp.astimezone(UTC), row.bytes, row.modified_at)
        # What was deleted and is there again, or still, because its run died: it was an orphan since then.
    return OrphanHistory(orphans, timedelta(seconds=longest), last)


def looked(catalog: LakeCatalog, uuid: str) -> list[OrphanEntry]:
    """The rows about a table, oldest look first; within a look in the order of a file's life.

    Raises:
        NoSuchTableError: `lakehouse.orphans` does not exist.
    """
    return _rows(catalog.load_table(ORPHANS.identifier), uuid)


def note(
    catalog: LakeCatalog,
    attempt: Attempt,
    looked_at: Table,
    notes: Sequence[Note],
    *,
    timestamp: datetime,
    longest_run: timedelta,
) -> None:
    """Remember what a look has found; told again by the same attempt, nothing is added.

    Raises:
        NoSuchTableError: `lakehouse.orphans` does not exist.
        TableBusy: others came first too often.
    """
    uuid = str(looked_at.metadata.table_uuid)
    rows = [
        {
            "look_id": attempt.id,
            "at": timestamp,
            "table_name": table_name(looked_at),
            "table_uuid": uuid,
            "path": entry.path,
            "bytes": entry.file.bytes,
            "modified_at": entry.file.modified_at,
            "event": entry.event,
            "longest_run_s": longest_run.total_seconds(),
        }
        for entry in notes
    ]

    def missing(base: Base) -> Missing:
        known = {(row.timestamp, row.path, row.event) for row in _rows(base.table, uuid)}
        new = [row for row in rows if (row["at"], row["path"], row["event"]) not in known]
        return Missing(new, {seal_keys.ORPHANS_TABLE: table_name(looked_at), seal_keys.ORPHANS_ROWS: str(len(new))})

    append_absent(catalog, ORPHANS.name, attempt, KIND, missing)


def _rows(table: Table, uuid: str) -> list[OrphanEntry]:
    if (head := head_of(table)) is None:
        return []
    about = EqualTo("table_uuid", uuid)  # pyright: ignore[reportCallIssue]
    entries = table.scan(
        row_filter=about, selected_fields=OrphanEntry.__struct_encode_fields__, snapshot_id=head
    ).to_arrow()
    return sorted(
        msgspec.convert(entries.to_pylist(), list[OrphanEntry]), key=lambda row: (row.timestamp, _ORDER[row.event])
    )
