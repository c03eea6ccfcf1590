"""Keeps a table's metadata small as part of every publish, so that the thousandth commit costs what the first did.

Only snapshot *entries* leave the metadata document. No file is deleted: a reader that has loaded an older document goes
on reading, and what no document names any more is for orphan removal, which waits much longer.

A publish requires that every tag is still where it was when the entries were chosen. That no new one is set meanwhile
nobody can require: the embedded catalog refuses to remove what has a name, an Iceberg REST server drops the name with
it. Expiry looks for such a tag, since it goes on to delete files; here the files stay, and so does the older document.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta

import structlog
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.iceberg.names import table_name
from lakehouse.protocol.leases.lease import held_leases
from lakehouse.protocol.seals.carried import evidence
from lakehouse.protocol.seals.history import MAIN, ancestry, attempt_of, head_of

KEEP_PROPERTY = "lakehouse.publish.keep-snapshots"
AGE_PROPERTY = "history.expire.max-snapshot-age-ms"
KEEP_DEFAULT = 50
_AGE_DEFAULT_MS = timedelta(days=5) // timedelta(milliseconds=1)  # Iceberg's own
# What a rebase leaves behind on no reference is expiry's, which deletes its files too; longer than that it stays only
# where nobody expires.
_LEFT_BEHIND_MS = timedelta(days=10) // timedelta(milliseconds=1)
_log = structlog.get_logger(__name__)


def outdated_snapshots(table: Table, next_head: int) -> list[int]:
    """Ids that the next publish may drop: of `main`, what neither its count nor its age keeps.

    `lakehouse.publish.keep-snapshots` is a count that somebody asked for. Where it is not set, no snapshot goes that is
    younger than `history.expire.max-snapshot-age-ms`, nor one of the newest 50.

    Never one that a branch or tag names, nor one on the way from another branch to `main`, nor one that the retention
    of `main` itself keeps, nor one that is newer than a lease: its owner reads from there on. Nor a rewrite from
    outside that nothing has proven or settled yet, with the one before it. Snapshots outside every
    reference stay, as they may be on their way to one, or were rolled back; but for those of an attempt that was
    published long ago from another branch, on a newer base.
    """
    newest_first = list(ancestry(table, next_head))
    now_ms = time.time_ns() // 1_000_000
    keep = max(2, _declared(table, newest_first, now_ms), retained(table, newest_first, now_ms))
    position_of = {snapshot.snapshot_id: position for position, snapshot in enumerate(newest_first)}
    leased = [position_of[lease.snapshot_id] for lease in held_leases(table) if lease.snapshot_id in position_of]
    newest = max([keep, *(position + 1 for position in leased)])
    if newest >= len(newest_first) == len(table.metadata.snapshots):
        return []
    kept_ids = {snapshot.snapshot_id for snapshot in newest_first[:newest]}
    kept_ids.update(_on_the_way(table, position_of))
    if (main := head_of(table)) is not None:
        kept_ids.add(main)
    kept_ids.update(evidence(table, next_head))
    return [
        *(snapshot_id for snapshot_id in position_of if snapshot_id not in kept_ids),
        *_left_behind(table, position_of.keys() | kept_ids, position_of),
    ]


def _on_the_way(table: Table, on_main: Mapping[int, int]) -> Iterator[int]:
    """What other references than `main` name, and what lies from there to `main`; each snapshot is visited once."""
    parent_of = {snapshot.snapshot_id: snapshot.parent_snapshot_id for snapshot in table.metadata.snapshots}
    for name, ref in table.metadata.refs.items():
        snapshot_id = ref.snapshot_id if name != MAIN else None
        while snapshot_id is not None:
            yield snapshot_id
            if snapshot_id in on_main:
                break
            snapshot_id = parent_of.pop(snapshot_id, None)  # from here on another reference was followed already


def _declared(table: Table, newest_first: Sequence[Snapshot], now_ms: int) -> int:
    """How many snapshots of `main` the table's properties keep: a count, or else an age."""
    count = _number(table, KEEP_PROPERTY)
    if count is not None:
        return count
    age_ms = _number(table, AGE_PROPERTY)
    return _younger(newest_first, KEEP_DEFAULT, now_ms - (_AGE_DEFAULT_MS if age_ms is None else age_ms))


def _number(table: Table, name: str) -> int | None:
    """What a property says; a publish does not fail for one that says no number."""
    value = table.properties.get(name)
    try:
        return None if value is None else int(value)
    except ValueError:
        _log.warning("property_not_understood", table=table_name(table), property=name, value=value)
        return None


def _younger(newest_first: Sequence[Snapshot], least: int, since_ms: int | None) -> int:
    """How many stay: the newest `least`, and all that are not older than a time; no more where there is none."""
    for position, snapshot in enumerate(newest_first):
        if position >= least and (since_ms is None or snapshot.timestamp_ms < since_ms):
            return position
    return len(newest_first)


def retained(table: Table, newest_first: Sequence[Snapshot], now_ms: int) -> int:
    """How many snapshots of `main` its own retention keeps: that of the reference, which somebody has set by SQL.

    Iceberg's `min-snapshots-to-keep` and `max-snapshot-age-ms` of a branch. `max-ref-age-ms` says nothing of `main`.
    """
    if (main := table.metadata.refs.get(MAIN)) is None:
        return 0
    age_ms = main.max_snapshot_age_ms
    return _younger(newest_first, main.min_snapshots_to_keep or 0, None if age_ms is None else now_ms - age_ms)


def _left_behind(table: Table, needed: set[int], on_main: Mapping[int, int]) -> list[int]:
    """What attempts on `main` have on no reference any more, long after."""
    cutoff_ms = table.metadata.last_updated_ms - _LEFT_BEHIND_MS
    old = [s for s in table.metadata.snapshots if s.snapshot_id not in needed and s.timestamp_ms < cutoff_ms]
    if not old:
        return []
    published = {attempt_of(s) for s in table.metadata.snapshots if s.snapshot_id in on_main} - {None}
    return [snapshot.snapshot_id for snapshot in old if attempt_of(snapshot) in published]
