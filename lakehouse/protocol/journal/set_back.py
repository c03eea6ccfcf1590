"""Where `main` was set back: told by the log that a table's metadata keep of it, as long as they keep it.

So a publish that was taken back before anybody had logged it is in the audit log all the same, and so is whoever
undid it: as a move of `main`, since no snapshot says who made one.
"""

from collections.abc import Sequence
from itertools import pairwise, takewhile

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.iceberg.names import table_name
from lakehouse.protocol.journal.commits import commit_events, commit_id
from lakehouse.protocol.journal.event import Event, moment
from lakehouse.protocol.journal.position import MainEntry
from lakehouse.protocol.seals.history import ancestry


def newest_move(table: Table) -> MainEntry | None:
    """The last time that `main` was moved, as the metadata keep it."""
    return next(reversed(_moves(table)), None)


def set_back_events(table: Table, since: MainEntry | None) -> list[Event]:
    """Each time that `main` was set back after a move, with the commits that it lost.

    Args:
        table: whose `main`.
        since: the last move that was looked at; None for all that are kept.
    """
    moves = _moves(table)
    events: list[Event] = []
    for previous, current in pairwise(moves[moves.index(since) if since in moves else 0 :]):
        if lost_snapshots := _lost_snapshots(table, previous.snapshot_id, current.snapshot_id):
            events += [
                *commit_events(table, lost_snapshots)[::-1],
                rolled_back(table, previous.snapshot_id, current.snapshot_id, current.at_ms),
            ]
    return events


def rolled_back(table: Table, previous_id: int, current_id: int | None, at_ms: int) -> Event:
    """The event of `main` being set from a snapshot to one that does not descend from it."""
    name = table_name(table)
    return Event(
        id=f"rolled back:{name}:{previous_id}:{current_id or 0}:{at_ms}",
        kind="commit",
        timestamp=moment(at_ms),
        outcome="rolled back",
        severity="WARN",
        message=f"main was set back: snapshot {previous_id} is no longer in its history.",
        table=name,
        snapshot_id=current_id,
        details={"was": previous_id, "commit": commit_id(name, previous_id)},
    )


def _moves(table: Table) -> Sequence[MainEntry]:
    return [MainEntry(entry.snapshot_id, entry.timestamp_ms) for entry in table.metadata.snapshot_log]


def _lost_snapshots(table: Table, previous_id: int, current_id: int) -> list[Snapshot]:
    """What `main` lost by a move, newest first: nothing where it went on, or where expired entries hide what it did."""
    current_ids = {snapshot.snapshot_id for snapshot in ancestry(table, current_id)}
    snapshots = list(takewhile(lambda snapshot: snapshot.snapshot_id not in current_ids, ancestry(table, previous_id)))
    return snapshots if snapshots and snapshots[-1].parent_snapshot_id in current_ids else []
