"""What the tables themselves say happened to them since the log last looked: from metadata alone, without Dagster.

A walk from the head of `main` back to where the log has come. Where it does not get there, either an operator took
commits back, or snapshots were trimmed before anybody had logged them: both are said in a row of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.catalog import LakeCatalog
from lakehouse.commit.history import ancestry, head_of
from lakehouse.journal.commits import commit_events, commit_id, seal_of
from lakehouse.journal.event import Event, Known, moment, nothing_known
from lakehouse.journal.position import News, Position, Seen
from lakehouse.tables import AUDIT_LOG, Declarations

# So much in one append at most; what is left comes with the next.
MOST_EVENTS = 1000
_NOWHERE = Position()


def reconcile(
    catalog: LakeCatalog,
    declarations: Declarations,
    position: Position = _NOWHERE,
    *,
    known: Known = nothing_known,
    most: int = MOST_EVENTS,
) -> News:
    """Find the commits of all declared tables that the log has not come to yet.

    Args:
        catalog: where the tables live.
        declarations: which tables there are.
        position: how far the log has come; everything that is still there if it never looked.
        known: asked only where the history of a table does not lead back to the position.
        most: how many events are wanted.
    """
    names = [name for name in sorted(declarations.tables) if name != AUDIT_LOG.name]
    events: list[Event] = []
    for identifier in catalog.locations([tuple(name.split(".")) for name in names]):
        if len(events) >= most:
            return News(tuple(events), position, more=True)
        name = ".".join(identifier)
        # Each for itself: an event belongs to one table, so they need not be those of one moment.
        found = _look(catalog.load_table(identifier), position.tables.get(name), known, most - len(events))
        events += found.events
        if found.seen is not None:
            position = position.with_table(name, found.seen)
        if found.more:
            return News(tuple(events), position, more=True)
    return News(tuple(events), position)


@dataclass(frozen=True)
class _Found:
    """Of one table: events, oldest first; how far they reach; whether there are more."""

    events: list[Event]
    seen: Seen | None
    more: bool = False


def _look(table: Table, seen: Seen | None, known: Known, most: int) -> _Found:
    replaced = seen is not None and seen.uuid != str(table.metadata.table_uuid)
    walked: list[Snapshot] = []
    for snapshot in ancestry(table, head_of(table)):
        if seen is not None and not replaced and snapshot.snapshot_id == seen.snapshot_id:
            return _taken(table, walked, [], seen, most)
        walked.append(snapshot)
    if seen is not None and replaced:
        return _taken(table, walked, [_gap(table, walked, seen, "the table was dropped and created anew")], None, most)
    return _taken(table, walked, _breaks(table, walked, seen, known), seen, most)


def _taken(table: Table, walked: Sequence[Snapshot], breaks: list[Event], seen: Seen | None, most: int) -> _Found:
    """The oldest events of a walk, as many as are wanted."""
    events = commit_events(table, walked)[::-1]
    more = len(events) > most
    until = events[most - 1].snapshot_id if more else head_of(table)
    if until is None:  # an empty `main`: there is nothing to come back to
        return _Found(breaks, None)
    new = {snapshot.snapshot_id for snapshot in walked}
    reached = (snapshot for snapshot in ancestry(table, until) if snapshot.snapshot_id in new)
    newest = next(
        (seal.digest for snapshot in reached if (seal := seal_of(table, snapshot))), seen.seal if seen else ""
    )
    return _Found([*breaks, *events[:most]], Seen(str(table.metadata.table_uuid), until, newest), more)


def _breaks(table: Table, walked: Sequence[Snapshot], seen: Seen | None, known: Known) -> list[Event]:
    """What to say where a walk ended before it came to what the log has seen."""
    sealed = [seal for snapshot in walked if (seal := seal_of(table, snapshot)) is not None]
    if seen is None:
        began = not walked or walked[-1].parent_snapshot_id is None or (bool(sealed) and not sealed[-1].previous)
        return [] if began else [_gap(table, walked, None, "snapshots were trimmed before the log began")]
    if walked and walked[-1].parent_snapshot_id == seen.snapshot_id:
        return []  # trimmed up to the very snapshot that was logged last: nothing is missing
    if seen.seal and any(seal.previous == seen.seal for seal in sealed):
        return [_gap(table, walked, seen, "every seal is, and what was trimmed may have been a commit without one")]
    if not walked or known(commit_events(table, walked)):
        return [_taken_back(table, seen)]
    return [_gap(table, walked, seen, "snapshots were trimmed before they were logged")]


def _gap(table: Table, walked: Sequence[Snapshot], seen: Seen | None, why: str) -> Event:
    name = ".".join(table.name())
    oldest = walked[-1] if walked else None
    since = f"after snapshot {seen.snapshot_id}" if seen else "from the beginning"
    until = f"before snapshot {oldest.snapshot_id}" if oldest else "until now"
    return Event(
        id=f"gap:{name}:{seen.snapshot_id if seen else 0}:{oldest.snapshot_id if oldest else 0}",
        kind="gap",
        at=moment(oldest.timestamp_ms if oldest else table.metadata.last_updated_ms),
        outcome="unknown",
        severity="WARN",
        message=f"Commits {since} and {until} are not in this log: {why}.",
        table=name,
        snapshot_id=oldest.snapshot_id if oldest else None,
        details={"after": seen.snapshot_id if seen else None, "before": oldest.snapshot_id if oldest else None},
    )


def _taken_back(table: Table, seen: Seen) -> Event:
    name, head = ".".join(table.name()), head_of(table)
    log = table.metadata.snapshot_log
    # The metadata remember when `main` was set to where it is.
    at = log[-1].timestamp_ms if log else table.metadata.last_updated_ms
    return Event(
        id=f"rolled back:{name}:{seen.snapshot_id}:{head or 0}:{at}",
        kind="commit",
        at=moment(at),
        outcome="rolled back",
        severity="WARN",
        message=f"main was set back: snapshot {seen.snapshot_id}, which was logged, is no longer in its history.",
        table=name,
        snapshot_id=head,
        details={"was": seen.snapshot_id, "commit": commit_id(name, seen.snapshot_id)},
    )
