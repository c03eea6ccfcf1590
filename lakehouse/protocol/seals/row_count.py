"""How many rows a reader of a snapshot sees.

`total-records` counts the rows in data files, also those that delete files hide. A running total of the deletes is no
help: a delete may hide a row that is hidden already, or one whose file is gone.
"""

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import PrimitiveType

from lakehouse.protocol.seals.history import summary_of

_POSITIONS, _EQUALITY = "total-position-deletes", "total-equality-deletes"


def rows_by_summary(snapshot: Snapshot) -> int | None:
    """The rows of a snapshot, where its summary can tell: where there is no delete."""
    summary = summary_of(snapshot)
    if "total-records" not in summary or any(int(summary.get(key, "0")) for key in (_POSITIONS, _EQUALITY)):
        return None
    return int(summary["total-records"])


def row_count(table: Table, snapshot_id: int | None) -> int | None:
    """The rows that a reader of a snapshot sees; 0 where there is no snapshot yet.

    Files that deletes lie over are read, one column of each; of all others it is in the metadata. None where deletes
    by value leave it open.
    """
    snapshot = table.metadata.snapshot_by_id(snapshot_id) if snapshot_id is not None else None
    if snapshot is None:
        return 0
    if (rows := rows_by_summary(snapshot)) is not None:
        return rows
    if int(summary_of(snapshot).get(_EQUALITY, "0")):
        return None
    column = next((f.name for f in table.schema().fields if isinstance(f.field_type, PrimitiveType)), "*")
    return table.scan(snapshot_id=snapshot.snapshot_id, selected_fields=(column,)).count()
