"""What maintenance has taken away for good: snapshots, orphans, dead branches, leases, rows that were there twice.

Its own rows say so, and this log as well: who asks where something has gone looks here. That a run has died of it, or
that somebody cannot read on after it, makes nothing come back.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from pyiceberg.exceptions import NoSuchTableError

from lakehouse.declarations import MAINTENANCE_LOG
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.journal.event import Event
from lakehouse.protocol.journal.position import JournalNews, JournalPosition
from lakehouse.protocol.seals.history import head_of

DELETING = ("branches", "leases", "deduplicate", "expire", "orphans")
_COLUMNS = (
    "row_id",
    "phase",
    "at",
    "table_name",
    "snapshot_id",
    "run_id",
    "operation",
    "result",
    "message",
    "measured",
)
# A log that nobody has completed for longer has other gaps as well.
_LOOKED_BACK = timedelta(days=30)


def deletions(catalog: LakeCatalog, position: JournalPosition) -> JournalNews:
    """Find what was deleted, unless the log has seen all that maintenance has written down.

    It has to be asked before `reconcile`, which moves the position of all tables.
    """
    try:
        table = catalog.load_table(MAINTENANCE_LOG.identifier)
    except NoSuchTableError:
        return JournalNews((), position)
    head, seen = head_of(table), position.tables.get(MAINTENANCE_LOG.name)
    if head is None or (seen is not None and seen.snapshot_id == head):
        return JournalNews((), position)
    earliest = datetime.now(UTC) - _LOOKED_BACK
    scan = table.scan(
        row_filter=f"at >= '{earliest.isoformat()}' and phase = 'finished' and result in ('done', 'failed')",
        selected_fields=_COLUMNS,
        snapshot_id=head,
    )
    return JournalNews(
        tuple(sorted(_events(scan.to_arrow().to_pylist()), key=lambda event: (event.at, event.id))), position
    )


def _events(rows: list[Mapping[str, Any]]) -> Iterator[Event]:
    for row in rows:
        facts = msgspec.json.decode(row["measured"] or "{}").get("facts", {})
        if row["operation"] in DELETING and (row["result"] == "done" or facts.get("died") or facts.get("snapshots")):
            yield Event(
                id=f"maintenance:{row['row_id']}",
                kind="maintenance",
                at=row["at"],
                outcome="deleted",
                message=f"{row['operation']}: {row['message']}",
                table=row["table_name"],
                snapshot_id=row["snapshot_id"],
                run_id=row["run_id"] or "",
                details=facts,
            )
