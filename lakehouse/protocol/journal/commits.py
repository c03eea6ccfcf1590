"""The commits of one table's `main`, as its seals tell them.

What an attempt staged is told by the seal on top of it; how many rows that were is not known where its entries have
expired. A commit that no attempt made has no seal: a rewrite is told as one, and anything else as written outside the
protocol.
"""

from collections.abc import Mapping, Sequence

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.journal.event import Event, moment
from lakehouse.protocol.seals.history import attempt_of, is_rewrite, summary_of
from lakehouse.protocol.seals.row_count import rows_by_summary
from lakehouse.protocol.seals.seal import Seal

# What a seal says of its step and is worth keeping when the seal is trimmed. No parameter's value is in it.
_KEPT = (
    seal_keys.KAFKA_START,
    seal_keys.KAFKA_END,
    seal_keys.KAFKA_COUNTS,
    seal_keys.KAFKA_LOST,
    seal_keys.LOSS_REASON,
    seal_keys.WRITE_MODE,
    seal_keys.REPROCESS_OFFSETS,
    seal_keys.REPROCESS_REASON,
    seal_keys.MIRROR_CHANGELOG,
    seal_keys.MIRROR_START,
    seal_keys.MIRROR_END,
    seal_keys.MIRROR_BUILD,
    seal_keys.DERIVED_MODE,
    seal_keys.DERIVED_PARTITION,
    seal_keys.DERIVED_DIFFERS,
    seal_keys.DERIVED_DATES,
    seal_keys.DERIVED_SCANNED,
    seal_keys.RELEASE_CURRENT,
    seal_keys.RELEASE_MEMBERS,
    seal_keys.RELEASE_NEWEST,
)
# Rows that an attempt added, and removed; None where nobody can know.
Moved = tuple[int, int] | tuple[None, None]


def commit_events(table: Table, snapshots: Sequence[Snapshot], last_logged: int | None = None) -> list[Event]:
    """Events of some consecutive snapshots.

    Args:
        table: whose they are.
        snapshots: newest first.
        last_logged: a snapshot that is known to belong to another attempt, though its entry may have expired.

    Returns:
        The events, newest first.
    """
    rows = _rows_of_attempts(table, snapshots, last_logged)
    return [event for snapshot in snapshots if (event := _event(table, snapshot, rows)) is not None]


def seal_of(table: Table, snapshot: Snapshot) -> Seal | None:
    """The seal that a snapshot carries; None also where it was changed after it was written."""
    try:
        return Seal.from_summary(summary_of(snapshot), where=f"{table_name(table)} snapshot {snapshot.snapshot_id}")
    except SealBroken:
        return None


def commit_id(table: str, snapshot_id: int) -> str:
    """The name of a commit."""
    return f"commit:{table}:{snapshot_id}"


def _event(table: Table, snapshot: Snapshot, rows: Mapping[str, Moved]) -> Event | None:
    seal = seal_of(table, snapshot)
    if seal is not None:
        return _sealed(table, snapshot, seal, rows)
    if seal_keys.VERSION in summary_of(snapshot):
        return _unsealed(table, snapshot, "broken", "its seal was changed after it was written", "ERROR")
    if attempt_of(snapshot) is not None:
        return None  # the seal on top of it tells of it
    if is_rewrite(snapshot):
        return _unsealed(table, snapshot, "rewritten", "by its own word the same rows in other files", "")
    return _unsealed(table, snapshot, "foreign", "written outside the protocol: no seal says by whom", "ERROR")


def _sealed(table: Table, snapshot: Snapshot, seal: Seal, rows: Mapping[str, Moved]) -> Event:
    name = table_name(table)
    added, removed = rows.get(seal.attempt, (0, 0))
    is_release = seal_keys.RELEASE_CURRENT in seal.statement
    message = (
        f"{seal.kind}: now at {seal.statement[seal_keys.RELEASE_CURRENT]}"
        if is_release
        else f"{seal.kind}: {_describe(added, removed)}"
    )
    if differs := seal.statement.get(seal_keys.DERIVED_DIFFERS):
        message += f"; declared to differ: {differs}"
    return Event(
        id=commit_id(name, snapshot.snapshot_id),
        kind="release" if is_release else "commit",
        timestamp=moment(snapshot.timestamp_ms),
        outcome="published",
        message=message,
        table=name,
        snapshot_id=snapshot.snapshot_id,
        run_id=seal.run_id,
        root_run_id=seal.root_run_id,
        step=seal.step,
        runtime_date=seal.runtime_date,
        parameters_digest=seal.parameters_digest,
        code_version=seal.code_version,
        details={
            "seal": seal.kind,
            "attempt": seal.attempt,
            "inputs": dict(seal.inputs),
            "rows_written": added,
            "rows_removed": removed,
            "rows": rows_by_summary(snapshot),
            **{key: seal.statement[key] for key in _KEPT if seal.statement.get(key)},
        },
    )


def _describe(added: int | None, removed: int | None) -> str:
    if added is None:
        return "nobody can say any more how many rows it wrote, as the entries below its seal have expired"
    return f"{added:,} rows written" + (f", {removed:,} removed" if removed else "")


def _unsealed(table: Table, snapshot: Snapshot, outcome: str, reason: str, severity: str) -> Event:
    name = table_name(table)
    return Event(
        id=commit_id(name, snapshot.snapshot_id),
        kind="commit",
        timestamp=moment(snapshot.timestamp_ms),
        outcome=outcome,
        message=f"{snapshot.summary.operation.value if snapshot.summary else 'commit'}: {reason}",
        table=name,
        snapshot_id=snapshot.snapshot_id,
        severity=severity,
    )


def _rows_of_attempts(table: Table, snapshots: Sequence[Snapshot], last_logged: int | None) -> dict[str, Moved]:
    """Attempt → rows that its snapshots added, and removed; unknown where more of them may have expired."""
    row_counts: dict[str, tuple[int, int]] = {}
    for snapshot in snapshots:
        if (attempt := attempt_of(snapshot)) is not None:
            summary, (added, removed) = summary_of(snapshot), row_counts.get(attempt, (0, 0))
            row_counts[attempt] = (
                added + int(summary.get("added-records", "0")),
                removed + int(summary.get("deleted-records", "0")),
            )
    parent_id = snapshots[-1].parent_snapshot_id if snapshots else None
    is_expired = parent_id not in (None, last_logged) and table.metadata.snapshot_by_id(parent_id) is None
    incomplete_attempt = attempt_of(snapshots[-1]) if is_expired else None
    return {attempt: (None, None) if attempt == incomplete_attempt else rows for attempt, rows in row_counts.items()}
