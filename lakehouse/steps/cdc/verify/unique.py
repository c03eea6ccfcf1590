"""Key uniqueness: is any key twice in the mirror? Reads the key's columns alone; null is a value.

Keys are counted by a 64-bit hash first, in as many passes as memory wants, and only those whose hash is there more than
once are compared themselves. So the answer is exact, and takes eight bytes a row.
"""

import time
from dataclasses import dataclass

import numpy as np
import polars as pl

from lakehouse.declarations import MirrorTables
from lakehouse.protocol.seals.history import summary_of
from lakehouse.protocol.seals.read_group import Pinned
from lakehouse.steps.cdc.replay.buckets import key_hash
from lakehouse.steps.cdc.replay.changes import column_types
from lakehouse.steps.cdc.replay.piecewise import frames
from lakehouse.steps.cdc.verify.compare import RowComparison, named

_ROWS_PER_PASS = 50_000_000
_SHOWN = 10


@dataclass(frozen=True)
class KeyProof:
    """How many keys a mirror holds.

    Args:
        rows: of the mirror.
        repeated: keys that are there more than once.
        surplus: rows beyond the first of their key.
        examples: some of these keys, for a person.
    """

    snapshot_id: int | None
    rows: int = 0
    repeated: int = 0
    surplus: int = 0
    examples: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether no key is there twice."""
        return not self.repeated


def check_keys(tables: MirrorTables, mirror: Pinned, *, per_pass: int = _ROWS_PER_PASS) -> KeyProof:
    """Look for keys that are in the mirror more than once.

    Args:
        tables: the mirror as declared.
        mirror: its table.
        per_pass: rows whose hashes are held at a time.
    """
    began = time.monotonic()
    snapshot = mirror.table.metadata.snapshot_by_id(mirror.snapshot_id or -1)
    total = int(summary_of(snapshot).get("total-records", "0")) if snapshot else 0
    passes = max(1, -(-total // per_pass))
    rows, suspects = 0, list[np.ndarray]()
    for number in range(passes):
        hashes = _hashes(tables, mirror, number, passes)
        rows += len(hashes)
        hashes.sort()
        suspects.append(np.unique(hashes[1:][hashes[1:] == hashes[:-1]]))
    wanted = pl.Series(np.concatenate(suspects), dtype=pl.UInt64)
    counts = _counted(tables, mirror, wanted) if len(wanted) else None
    seconds = round(time.monotonic() - began, 3)
    if counts is None or counts.is_empty():
        return KeyProof(mirror.snapshot_id, rows, seconds=seconds)
    comparison = RowComparison(tables.changelog.key, (), {c.name for c in tables.changelog.key_columns if c.sensitive})
    examples = [
        f"{named(comparison.key_shown(row))}: {row['_rows']} rows" for row in counts.head(_SHOWN).iter_rows(named=True)
    ]
    surplus = int(counts["_rows"].sum()) - counts.height
    return KeyProof(mirror.snapshot_id, rows, counts.height, surplus, tuple(examples), seconds)


def _hashes(tables: MirrorTables, mirror: Pinned, number: int, passes: int) -> np.ndarray:
    """Hashes of the keys of one pass."""
    key = list(tables.changelog.key)
    pieces = [np.empty(0, np.uint64)]
    for piece in frames(mirror.table, mirror.snapshot_id, key):
        hashes = piece.select(key_hash(key)).to_series().to_numpy()
        pieces.append(hashes if passes == 1 else hashes[hashes % np.uint64(passes) == number])
    return np.concatenate(pieces)


def _counted(tables: MirrorTables, mirror: Pinned, suspects: pl.Series) -> pl.DataFrame:
    """Keys whose hash is there more than once, and that are so themselves, with their numbers of rows."""
    key = list(tables.changelog.key)
    types = column_types(mirror.table)
    pieces = [pl.DataFrame(schema={name: types[name] for name in key})]
    pieces += [
        piece.filter(key_hash(key).is_in(suspects.implode())) for piece in frames(mirror.table, mirror.snapshot_id, key)
    ]
    return pl.concat(pieces).group_by(key).agg(_rows=pl.len()).filter(pl.col("_rows") > 1).sort(key)
