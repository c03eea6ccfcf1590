"""Statistics of columns, kept for each snapshot in a table of our own: the history that drift is judged against.

Dagster's database may be thrown away, and an expired snapshot cannot be measured again; a table outlives both. See
`docs/decisions/0007-statistics-are-a-table.md`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse.declarations import STATISTICS, apply, plan
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Missing, append_absent
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.history import ancestry, is_rewrite, is_seal_only

KIND = "statistics"


@dataclass(frozen=True)
class Point:
    """A column at one moment of its past."""

    snapshot_id: int
    statistics: ColumnProfile


@dataclass(frozen=True)
class Kept:
    """What is known of the past of one table.

    Attributes:
        rows: column → snapshot id → when it was made, and statistics as they were written.
        discarded: snapshots that are known to have been rolled back.
    """

    rows: Mapping[str, Mapping[int, tuple[int, str]]] = field(default_factory=dict[str, Mapping[int, tuple[int, str]]])
    discarded: frozenset[int] = frozenset()

    def profile_at(self, column: str, snapshot_id: int) -> ColumnProfile | None:
        """Statistics of a column at a snapshot, if they were kept."""
        stored = self.rows.get(column, {}).get(snapshot_id)
        return msgspec.json.decode(stored[1], type=ColumnProfile) if stored else None

    def before(self, column: str, snapshot: Snapshot, most: int) -> list[Point]:
        """The newest points of a column's history before a snapshot, oldest first."""
        earlier = sorted(
            (committed, snapshot_id, text)
            for snapshot_id, (committed, text) in self.rows.get(column, {}).items()
            if committed < snapshot.timestamp_ms
            and snapshot_id != snapshot.snapshot_id
            and snapshot_id not in self.discarded
        )
        return [
            Point(snapshot_id, msgspec.json.decode(text, type=ColumnProfile))
            for _, snapshot_id, text in earlier[-most:]
        ]


def content_of(table: IcebergTable, snapshot_id: int | None) -> Snapshot | None:
    """The newest snapshot, at or before this one, that changed rows: seals and rewrites have the statistics of it."""
    snapshot = None
    for snapshot in ancestry(table, snapshot_id):
        if not (is_rewrite(snapshot) or is_seal_only(snapshot)):
            break
    return snapshot


def kept_statistics(catalog: LakeCatalog, table: IcebergTable, snapshot_id: int | None) -> Kept:
    """Read what was kept of a table.

    Args:
        catalog: where both tables live.
        table: the measured table.
        snapshot_id: the snapshot that is judged; what is loaded and not among its ancestors was rolled back.
    """
    try:
        base = read_bases(catalog, [STATISTICS.name])[STATISTICS.name]
    except NoSuchTableError:  # nothing was measured yet
        return Kept()
    known = {snapshot.snapshot_id for snapshot in table.metadata.snapshots}
    discarded = known - {snapshot.snapshot_id for snapshot in ancestry(table, snapshot_id)}
    rows: dict[str, dict[int, tuple[int, str]]] = {}
    uuid = str(table.metadata.table_uuid)
    for row in _rows(base, table_name(table), "table_uuid", "column_name", "snapshot_id", "committed_at", "statistics"):
        if row["table_uuid"] == uuid:
            point = round(row["committed_at"].timestamp() * 1000), row["statistics"]
            rows.setdefault(row["column_name"], {})[row["snapshot_id"]] = point
    return Kept(rows, frozenset(discarded))


def keep_statistics(
    catalog: LakeCatalog,
    table: IcebergTable,
    content: Snapshot,
    measured: Mapping[str, ColumnProfile],
    *,
    run_id: str,
) -> int:
    """Add what is not kept yet, through the protocol; returns how many columns were added.

    What is there is looked up at the very snapshot that the publish requires to be the newest, so the same column and
    snapshot are never there twice, whoever else measures at the same time.

    Raises:
        TableBusy: others were faster in every try.
    """
    apply(plan(STATISTICS, catalog), catalog)
    attempt = Attempt(run_id=run_id, step=KIND)
    added = append_absent(
        catalog, STATISTICS.name, attempt, KIND, lambda base: _unkept(base, table, content, measured, run_id)
    )
    return len(added.rows)


def _unkept(
    base: Base, table: IcebergTable, content: Snapshot, measured: Mapping[str, ColumnProfile], run_id: str
) -> Missing:
    name, uuid = table_name(table), str(table.metadata.table_uuid)
    kept_columns = {
        row["column_name"]
        for row in _rows(base, name, "table_uuid", "column_name", "snapshot_id")
        if (row["table_uuid"], row["snapshot_id"]) == (uuid, content.snapshot_id)
    }
    rows = [
        {
            "table_name": name,
            "table_uuid": uuid,
            "column_name": column,
            "snapshot_id": content.snapshot_id,
            "committed_at": datetime.fromtimestamp(content.timestamp_ms / 1000, UTC),
            "statistics": msgspec.json.encode(statistics).decode(),
            "run_id": run_id,
        }
        for column, statistics in measured.items()
        if column not in kept_columns
    ]
    return Missing(rows, {seal_keys.STATISTICS_ADDED: str(len(rows))})


def _rows(base: Base, table_name: str, *columns: str) -> list[dict[str, Any]]:
    ours = EqualTo("table_name", table_name)  # pyright: ignore[reportCallIssue] - its constructor is made by pydantic
    if base.snapshot_id is None:
        return []
    return base.table.scan(ours, selected_fields=columns, snapshot_id=base.snapshot_id).to_arrow().to_pylist()
