"""Which keys a fold check looks at: all of them, or those of some buckets that change from snapshot to snapshot."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

BUCKETS = 1024
_SEED = 0x5EED


@dataclass(frozen=True)
class Buckets:
    """Some of all keys.

    Args:
        chosen: numbers of buckets; None: every key.
        seed: what they were drawn with, so that anybody can draw them again.
    """

    chosen: frozenset[int] | None = None
    seed: int = 0

    @classmethod
    def draw(cls, rows: int, limit: int, seed: int) -> "Buckets":
        """All keys where so many rows are within the limit, otherwise as many buckets as fit it, at least one."""
        if rows <= limit:
            return cls()
        number = max(1, BUCKETS * limit // rows)
        return cls(frozenset(random.Random(seed).sample(range(BUCKETS), number)), seed)  # noqa: S311 - a sample, not a secret

    @classmethod
    def all_in_parts(cls, rows: int, limit: int) -> "list[Buckets]":
        """Every key, in as many parts as fit the limit."""
        parts = min(BUCKETS, max(1, -(-rows // max(limit, 1))))
        if parts == 1:
            return [cls()]
        return [cls(frozenset(range(part, BUCKETS, parts))) for part in range(parts)]

    @property
    def share(self) -> float:
        """Share of all keys."""
        return 1.0 if self.chosen is None else len(self.chosen) / BUCKETS

    def __str__(self) -> str:
        if self.chosen is None:
            return "every key"
        shown = ", ".join(map(str, sorted(self.chosen)[:8])) + (", …" if len(self.chosen) > 8 else "")
        return f"{len(self.chosen)} of {BUCKETS} buckets of keys ({shown}; drawn with {self.seed})"

    def of(self, frame: pl.DataFrame, key: Sequence[str], *, always: pl.Expr | None = None) -> pl.DataFrame:
        """The rows whose key is in a chosen bucket. Key columns must have the same types in every frame.

        Args:
            frame: with the key's columns.
            key: which they are.
            always: rows that are kept whatever their key is.
        """
        if self.chosen is None or frame.is_empty():
            return frame
        inside = (key_hash(key) % BUCKETS).is_in(sorted(self.chosen))
        return frame.filter(inside if always is None else inside | always)


def key_hash(key: Sequence[str]) -> pl.Expr:
    """A hash of the key's columns in which null is a value. Another one than Iceberg's and Spark's, on purpose."""
    return pl.struct(*key).hash(_SEED)
