"""A mirror and the plain fold, fed the same."""

from collections.abc import Callable
from typing import Any

import pyspark.sql.types as T  # noqa: N812
from pyspark.sql import SparkSession

from lakehouse.declarations import MirrorTables
from lakehouse.steps.cdc.position import ChangePosition
from lakehouse.steps.cdc.statement import Applied
from lakehouse_tests.steps.cdc.folding import Mirrored, declare
from lakehouse_tests.steps.cdc.plain_fold import Change, Fold

COLUMNS = {"id": T.LongType(), "a": T.StringType(), "b": T.IntegerType()}
HARD, SOFT = declare(("id",), COLUMNS), declare(("id",), COLUMNS, deletes="soft")


def at(commit: int) -> ChangePosition:
    return ChangePosition(0, commit, 0)


class Both:
    """A mirror and the plain fold, fed the same."""

    def __init__(self, session: SparkSession, tables: MirrorTables = HARD) -> None:
        self.session = session
        self.mirrored = Mirrored(session, tables)
        names = [name for name in tables.changelog.row.columns if name not in tables.changelog.key]
        self.fold = Fold(names, soft=tables.mirror.deletes == "soft")
        self.offset = 0

    def change(self, operation: str, key: Any, commit: int | None, **more: Any) -> Change:
        """The next record: columns by name; `time`, `partition`, `unavailable`."""
        named = {
            name: more.pop(name) for name in ("time", "partition", "unavailable", "offset", "other") if name in more
        }
        named["unavailable"] = frozenset(named.get("unavailable", ()))
        named["other"] = None if (other := named.get("other")) is None or isinstance(other, tuple) else (other,)
        self.offset += 1
        key = key if isinstance(key, tuple) else (key,)
        columns = dict.fromkeys(self.fold.names) | more if operation in ("insert", "update", "read") else {}
        position = None if commit is None else at(commit)
        return Change(operation, key, position, columns, **{"offset": self.offset} | named)

    def apply(self, *changes: tuple[Any, ...] | Change) -> Applied:
        """Fold one range; a change is written (operation, key, commit, {…})."""
        told = [c if isinstance(c, Change) else self.change(*c[:3], **(c[3] if len(c) > 3 else {})) for c in changes]
        delta = self.mirrored.apply(told)
        self.fold.apply(told, low_watermark=self.low_watermark)
        assert self.mirrored.held() == self.fold.rows()
        refused = [(row["reason"], row["partition"], row["offset"]) for row in self.mirrored.refused]
        assert sorted(refused) == sorted(self.fold.refused)
        assert self.mirrored.applied.duplicates == self.fold.duplicates
        ledger = {(self.mirrored.key(row), ChangePosition.of(row["_cdc_position"])) for row in self.mirrored.tombstones}
        assert ledger == {(key, position) for key, held in self.fold.ledger.items() for position in held}
        return delta.applied

    @property
    def low_watermark(self) -> int:
        return self.mirrored.memory.low_watermark_us

    def pass_by(self, low_watermark: int) -> None:
        """The source's clock goes on, and tombstones are collected."""
        self.mirrored.forget(low_watermark)
        self.fold.forget(low_watermark)

    def row(self, key: Any) -> tuple[Any, ...] | None:
        """Values of a row, or None."""
        held = self.mirrored.held().get(key if isinstance(key, tuple) else (key,))
        return held and tuple(held[name] for name in self.fold.names)

    def deleted(self, key: Any) -> bool:
        return self.mirrored.held()[key,]["deleted"]

    def behind(self, key: Any) -> dict[str, ChangePosition]:
        return self.mirrored.held()[key,]["behind"]


NewBoth = Callable[..., Both]


def moved(key: Any, commit: int, to: Any, **columns: Any) -> tuple[tuple[Any, ...], ...]:
    """A change of key that sends these columns alone."""
    unsent = [name for name in ("a", "b") if name not in columns]
    return ("delete", key, commit), ("insert", to, commit, {**columns, "other": key, "unavailable": unsent})
