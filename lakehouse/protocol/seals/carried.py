"""What came from outside stays known below newer seals, though publishing trims the history that shows it.

Each seal names what was below it and is not settled: commits that no seal accounts for, rewrites that nobody has
proven, names that have meant several fields. The next one repeats it, until a seal settles the matter. The snapshots
of such rewrites, and the ones before them, are kept for whoever has to compare them.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

import msgspec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.covered import uncovered_of
from lakehouse.protocol.seals.foreign_rewrites import recorded_of, recorded_rewrites, unproven_of
from lakehouse.protocol.seals.history import ancestry, listed_parent
from lakehouse.protocol.seals.remarkable import remarkable_snapshots
from lakehouse.protocol.seals.seal import Seal
from lakehouse.protocol.seals.settling import is_settling
from lakehouse.protocol.seals.written_fields import ambiguous_fields

MOST_COMMITS = 50
"""One is enough for a finding, and all are settled together: so the oldest are named."""
MOST_REWRITES = 200
_KEYS = (seal_keys.FOREIGN_COMMITS, seal_keys.FOREIGN_REWRITES, seal_keys.FOREIGN_COLUMNS)


def carry_on(seal: Seal, base: Base) -> Seal:
    """The seal with what is open in the history of its base; as it is where nothing is, or where it settles that."""
    statement = {key: text for key, text in seal.statement.items() if key not in _KEYS}
    if not is_settling(seal.kind, statement):
        table, head = base.table, base.snapshot_id
        proven = msgspec.json.decode(statement.get(seal_keys.FOREIGN_PROVEN, "[]"), type=list[int])
        remarkable = list(remarkable_snapshots(table, head))
        commits = uncovered_of(remarkable)[-MOST_COMMITS:]
        rewrites = [snapshot_id for snapshot_id in _open_rewrites(base, remarkable) if snapshot_id not in proven]
        values = (
            {str(commit.snapshot_id): commit.description for commit in commits},
            rewrites[-MOST_REWRITES:],
            ambiguous_fields(table, head),
        )
        statement |= {
            key: msgspec.json.encode(value).decode() for key, value in zip(_KEYS, values, strict=True) if value
        }
    return seal if statement == seal.statement else replace(seal, statement=statement)


def evidence(table: Table, snapshot_id: int | None) -> dict[int, int]:
    """Snapshot to keep → the foreign rewrite that it is, or that it is the one before; as far as entries are there.

    Of other commits the name is enough: to hold what they deleted would keep rows that somebody had to erase.
    """
    kept: dict[int, int] = {}
    for foreign_id in sorted(recorded_rewrites(table, snapshot_id)):
        if table.metadata.snapshot_by_id(foreign_id) is not None:
            kept[foreign_id] = foreign_id
        if (parent := listed_parent(table, foreign_id)) is not None:
            kept.setdefault(parent, foreign_id)
    return kept


def _open_rewrites(base: Base, remarkable: Sequence[Snapshot]) -> list[int]:
    """Unproven rewrites, but for those of which an earlier version had let go of what would prove them.

    That version's seals name none, and what was forgotten with the next publish should not be named for ever.
    """
    table, head = base.table, base.snapshot_id
    if not (unproven := unproven_of(remarkable)):
        return []
    sealed_id = base.sealed.snapshot_id if base.sealed is not None else None
    newer = takewhile(lambda snapshot: snapshot.snapshot_id != sealed_id, ancestry(table, head))
    named = {snapshot.snapshot_id for snapshot in newer} | recorded_of(remarkable)
    return [
        snapshot_id for snapshot_id in unproven if snapshot_id in named or listed_parent(table, snapshot_id) is not None
    ]
