"""Keeps a table's metadata small as part of every publish, so that the thousandth commit costs what the first did.

Only snapshot *entries* leave the metadata document. No file is deleted: a reader that has loaded an older document goes
on reading, and what no document names any more is for orphan removal, which waits much longer.
"""

from pyiceberg.table import Table

from lakehouse.commit.history import MAIN, ancestry, head_of
from lakehouse.commit.lease import leases

KEEP_PROPERTY = "lakehouse.publish.keep-snapshots"
KEEP_DEFAULT = 50


def outdated_snapshots(table: Table, next_head: int) -> list[int]:
    """Ids that the next publish may drop: older than the newest `lakehouse.publish.keep-snapshots` of `main`.

    Never one that a branch or tag names, nor one on the way from another branch to `main`, nor one that is newer than a
    lease: its owner reads from there on. Snapshots outside every reference stay: they may be on their way to one.
    """
    keep = max(2, int(table.properties.get(KEEP_PROPERTY, KEEP_DEFAULT)))
    history = [snapshot.snapshot_id for snapshot in ancestry(table, next_head)]
    of_main = set(history)
    read_from = [history.index(at) for at in leases(table).values() if at in of_main]
    held = set(history[: max([keep, *(place + 1 for place in read_from)])])
    for name, ref in table.metadata.refs.items():
        held.add(ref.snapshot_id)
        if name == MAIN:
            continue
        for snapshot in ancestry(table, ref.snapshot_id):
            held.add(snapshot.snapshot_id)
            if snapshot.snapshot_id in of_main:
                break
    if (main := head_of(table)) is not None:
        held.add(main)
    return [snapshot_id for snapshot_id in history if snapshot_id not in held]
