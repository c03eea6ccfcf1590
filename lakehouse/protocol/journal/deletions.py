"""What maintenance has taken away for good: snapshots, orphans, dead branches, leases, rows that were there twice.

Its own rows say so, and this log as well: who asks where something has gone looks here. That a run has died of it, or
that somebody cannot read on after it, makes nothing come back.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from pyiceberg.exceptions import NoSuchTableError

from lakehouse.declarations import MAINTENANCE_LOG
from lakehouse.declarations.own_tables.decision_row import DecisionRow
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.journal.event import Event
from lakehouse.protocol.journal.position import JournalNews, JournalPosition
from lakehouse.protocol.seals.history import head_of

DELETING = ("branches", "leases", "deduplicate", "expire", "orphans")
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
        snapshot_id=head,
    )
    rows = (DecisionRow.from_columns(row) for row in scan.to_arrow().to_pylist())
    return JournalNews(tuple(sorted(_events(rows), key=lambda event: (event.timestamp, event.id))), position)


def _events(rows: Iterable[DecisionRow]) -> Iterator[Event]:
    for row in rows:
        effect = row.effect
        if row.operation in DELETING and (row.result == "done" or effect.died or effect.snapshots):
            yield Event(
                id=f"maintenance:{row.row_id}",
                kind="maintenance",
                timestamp=row.timestamp,
                outcome="deleted",
                message=f"{row.operation}: {row.message}",
                table=row.table_name,
                snapshot_id=row.snapshot_id,
                run_id=row.run_id or "",
                details=effect.counted(),
            )
