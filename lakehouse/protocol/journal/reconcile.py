"""What the tables themselves say happened to them since the log last looked: from metadata alone, without Dagster.

A walk from the head of `main` back to where the log has come. Where it does not get there, either an operator took
commits back, or snapshots were trimmed before anybody had logged them, or the table is another one by now: each is said
in a row of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.declarations import AUDIT_LOG, Declarations
from lakehouse.iceberg.names import identifier_of, name_of, table_name
from lakehouse.protocol.catalog import CANNOT_LOAD, LakeCatalog
from lakehouse.protocol.journal.commits import commit_events, commit_id, seal_of
from lakehouse.protocol.journal.event import Event, Known, moment, nothing_known
from lakehouse.protocol.journal.position import JournalNews, JournalPosition, Seen
from lakehouse.protocol.journal.set_back import newest_move, rolled_back, set_back_events
from lakehouse.protocol.seals.history import ancestry, head_of

# So much in one append at most; what is left comes with the next.
MOST_EVENTS = 1000
_NOWHERE = JournalPosition()


def reconcile(
    catalog: LakeCatalog,
    declarations: Declarations,
    position: JournalPosition = _NOWHERE,
    *,
    known: Known = nothing_known,
    most: int = MOST_EVENTS,
) -> JournalNews:
    """Find the commits of all declared tables that the log has not come to yet.

    Args:
        catalog: where the tables live.
        declarations: which tables there are.
        position: how far the log has come; everything that is still there if it never looked.
        known: asked only where the history of a table does not lead back to the position.
        most: how many events are wanted.
    """
    names = sorted({*declarations.tables, *position.tables} - {AUDIT_LOG.name})
    locations = catalog.locations([identifier_of(name) for name in names])
    events: list[Event] = []
    trouble = {name_of(identifier): reason for identifier, reason in locations.refused.items()}
    for name in (name for name in names if name not in trouble):
        if len(events) >= most:
            return JournalNews(tuple(events), position, more=True, trouble=trouble)
        seen = position.tables.get(name)
        if identifier_of(name) not in locations.known:
            if seen is not None:
                events.append(_removal_event(name, seen, "dropped"))
                position = position.without_table(name)
            continue
        if name not in declarations.tables:
            continue
        # Each for itself: an event belongs to one table, so they need not be those of one moment.
        try:
            table = catalog.load_table(identifier_of(name))
        except CANNOT_LOAD as error:  # what is wrong with one table keeps nothing of the others out of the log
            trouble[name] = type(error).__name__
            continue
        if seen is not None and seen.uuid != str(table.metadata.table_uuid):
            events.append(_removal_event(name, seen, "replaced"))
            position, seen = position.without_table(name), None
        new = _table_events(table, seen, known, most - len(events))
        events += new.events
        if new.seen is not None:
            position = position.with_table(name, new.seen)
        if new.more:
            return JournalNews(tuple(events), position, more=True, trouble=trouble)
    return JournalNews(tuple(events), position, trouble=trouble)


@dataclass(frozen=True)
class _TableNews:
    """Of one table: events, oldest first; how far they reach; whether there are more."""

    events: list[Event]
    seen: Seen | None
    more: bool = False


def _table_events(table: Table, seen: Seen | None, known: Known, most: int) -> _TableNews:
    moved = set_back_events(table, seen.moved if seen else None)
    snapshots: list[Snapshot] = []
    for snapshot in ancestry(table, head_of(table)):
        if seen is not None and snapshot.snapshot_id == seen.snapshot_id:
            return _oldest_events(table, snapshots, moved, seen, most)
        snapshots.append(snapshot)
    return _oldest_events(table, snapshots, [*moved, *_break_events(table, snapshots, seen, moved, known)], seen, most)


def _oldest_events(
    table: Table, snapshots: Sequence[Snapshot], breaks: list[Event], seen: Seen | None, most: int
) -> _TableNews:
    """The oldest events of a walk, as many as are wanted."""
    events = commit_events(table, snapshots, seen.snapshot_id if seen else None)[::-1]
    has_more = len(events) > most
    until = events[most - 1].snapshot_id if has_more else head_of(table)
    if until is None:  # an empty `main`: there is nothing to come back to
        return _TableNews(breaks, None)
    new_ids = {snapshot.snapshot_id for snapshot in snapshots}
    seen_snapshots = (snapshot for snapshot in ancestry(table, until) if snapshot.snapshot_id in new_ids)
    newest = next(
        (seal.digest for snapshot in seen_snapshots if (seal := seal_of(table, snapshot))), seen.seal if seen else ""
    )
    new_position = Seen(str(table.metadata.table_uuid), until, newest, newest_move(table))
    return _TableNews([*breaks, *events[:most]], new_position, has_more)


def _break_events(
    table: Table, snapshots: Sequence[Snapshot], seen: Seen | None, moved: Sequence[Event], known: Known
) -> list[Event]:
    """What to say where a walk ended before it came to what the log has seen, and `moved` does not tell already."""
    sealed = [seal for snapshot in snapshots if (seal := seal_of(table, snapshot)) is not None]
    if seen is None:
        is_complete = (
            not snapshots or snapshots[-1].parent_snapshot_id is None or (bool(sealed) and not sealed[-1].previous)
        )
        return (
            [] if is_complete else [_gap_event(table, snapshots, None, "snapshots were trimmed before the log began")]
        )
    if snapshots and snapshots[-1].parent_snapshot_id == seen.snapshot_id:
        return []  # trimmed up to the very snapshot that was logged last: nothing is missing
    if seen.seal and any(seal.previous == seen.seal for seal in sealed):
        return [
            _gap_event(table, snapshots, seen, "every seal is, and what was trimmed may have been a commit without one")
        ]
    if not snapshots or known(commit_events(table, snapshots)):
        is_reported = commit_id(table_name(table), seen.snapshot_id) in {event.id for event in moved}
        last = newest_move(table)
        at_ms = last.at_ms if last else table.metadata.last_updated_ms
        return [] if is_reported else [rolled_back(table, seen.snapshot_id, head_of(table), at_ms)]
    return [_gap_event(table, snapshots, seen, "snapshots were trimmed before they were logged")]


def _gap_event(table: Table, snapshots: Sequence[Snapshot], seen: Seen | None, reason: str) -> Event:
    name = table_name(table)
    oldest = snapshots[-1] if snapshots else None
    start = f"after snapshot {seen.snapshot_id}" if seen else "from the beginning"
    end = f"before snapshot {oldest.snapshot_id}" if oldest else "until now"
    return Event(
        id=f"gap:{name}:{seen.snapshot_id if seen else 0}:{oldest.snapshot_id if oldest else 0}",
        kind="gap",
        timestamp=moment(oldest.timestamp_ms if oldest else table.metadata.last_updated_ms),
        outcome="unknown",
        severity="WARN",
        message=f"Commits {start} and {end} are not in this log: {reason}.",
        table=name,
        snapshot_id=oldest.snapshot_id if oldest else None,
        details={"after": seen.snapshot_id if seen else None, "before": oldest.snapshot_id if oldest else None},
    )


def _removal_event(name: str, seen: Seen, outcome: str) -> Event:
    """The event of a table that is no longer the one that was logged; the position forgets it, so it is told once."""
    suffix = " and created anew" if outcome == "replaced" else ""
    return Event(
        id=f"{outcome}:{name}:{seen.uuid}",
        kind="gap",
        timestamp=datetime.now(UTC),  # nothing is left that would tell when it happened
        outcome=outcome,
        severity="WARN",
        message=f"The table was dropped{suffix} at some time before this. By whom, and what was committed to it after "
        f"snapshot {seen.snapshot_id}, nobody can know.",
        table=name,
        snapshot_id=seen.snapshot_id,
        details={"uuid": seen.uuid, "after": seen.snapshot_id},
    )
