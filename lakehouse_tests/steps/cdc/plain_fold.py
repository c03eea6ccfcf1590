"""What a mirror is, in plain Python: one change after the other onto registers that keep the greater position."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lakehouse.steps.cdc.position import ChangePosition

Key = tuple[Any, ...]
NEVER = ChangePosition(-1, -1, -1)


@dataclass(frozen=True)
class Change:
    """One change; `columns` are all columns beside the key, `unavailable` those of them that were not sent."""

    operation: str
    key: Key
    position: ChangePosition | None
    columns: Mapping[str, Any] = field(default_factory=dict)
    unavailable: frozenset[str] = frozenset()
    time: int | None = None
    partition: int = 0
    offset: int = 0
    other: Key | None = None

    @property
    def left_out(self) -> bool:
        """Whether it is a change of key that does not send every value."""
        return self.operation == "insert" and self.other is not None and bool(self.unavailable)

    @property
    def gone(self) -> bool:
        return self.operation in ("delete", "tombstone")

    @property
    def lone(self) -> bool:
        return self.operation == "tombstone" and self.position is None

    @property
    def says(self) -> Hashable:
        if self.gone:
            return "delete"
        values = tuple(sorted((name, value) for name, value in self.columns.items() if value is not None))
        return self.operation, values, tuple(sorted(self.unavailable))

    @property
    def arrival(self) -> tuple[int, int]:
        return self.partition, self.offset


class Head(NamedTuple):
    position: ChangePosition
    alive: bool
    time: int | None
    says: Hashable


@dataclass
class Registers:
    """Everything that was ever said of one key."""

    head: Head | None = None
    columns: dict[str, tuple[ChangePosition, Any]] = field(default_factory=dict)

    def live(self, change: Change, position: ChangePosition, completed: Mapping[str, Any]) -> None:
        if self.head is None or position > self.head.position:
            self.head = Head(position, True, change.time, change.says)
        for name, value in (change.columns | completed).items():
            if (name in completed or name not in change.unavailable) and position > self.columns.get(name, (NEVER,))[0]:
                self.columns[name] = (position, value)

    def die(self, names: Iterable[str], head: Head, *, soft: bool) -> None:
        # Not older: a tombstone comes after the change whose position it takes.
        if self.head is None or head.position >= self.head.position:
            self.head = head
        for name in () if soft else names:
            if head.position >= self.columns.get(name, (NEVER,))[0]:
                self.columns[name] = (head.position, None)


class Fold:
    """A mirror, kept range by range."""

    def __init__(self, names: Iterable[str], *, soft: bool = False) -> None:
        self.names, self.soft = tuple(names), soft
        self.keys: dict[Key, Registers] = {}
        self.ledger: dict[Key, dict[ChangePosition, Head]] = {}
        self.truncated: ChangePosition | None = None
        self.refused: list[tuple[str, int, int]] = []
        self.duplicates = 0
        self.came: dict[Key, list[Change]] = {}

    def apply(self, changes: Iterable[Change], *, low_watermark: int = 0) -> None:
        arrived = sorted(changes, key=lambda change: change.arrival)
        for change in arrived:
            self.came.setdefault(change.key, []).append(change)
        before = {key: self.stored(key) for key in {change.key for change in arrived}}
        truncates = [c.position for c in arrived if c.operation == "truncate" and c.position]
        self.truncated = max([*truncates, *([self.truncated] if self.truncated else [])], default=None)
        of_rows = [change for change in arrived if change.operation not in ("truncate", "control")]
        accepted = [change for change in of_rows if not self._too_late(change, before[change.key], low_watermark)]
        taken: set[tuple[Key, ChangePosition]] = set()
        says = {(key, position): head.says for key, heads in before.items() for position, head in heads.items()}
        for change, position, time in sorted(self._placed(accepted, before), key=lambda p: (p[1], p[0].lone)):
            registers = self.keys.setdefault(change.key, Registers())
            first = says.setdefault((change.key, position), change.says)
            if change.lone:
                registers.die(self.names, Head(position, False, time, first), soft=self.soft)
            elif (change.key, position) in taken or position in before[change.key]:
                if first == change.says:
                    self.duplicates += 1
                else:
                    self.refused.append(("contradiction", *change.arrival))
            elif change.gone:
                registers.die(self.names, Head(position, False, time, first), soft=self.soft)
            else:
                registers.live(change, position, self._left_out(change))
            taken.add((change.key, position))
        self._correct()
        for key in before:
            head = self.keys[key].head if key in self.keys else None
            if head and not head.alive and not self.soft and not self._covered(head.position):
                self.ledger.setdefault(key, {})[head.position] = head

    def forget(self, low_watermark: int) -> None:
        """Collect tombstones."""
        for key in list(self.ledger):
            for position, head in list(self.ledger[key].items()):
                if (head.time is not None and head.time < low_watermark) or self._covered(position):
                    del self.ledger[key][position]
            if not self.ledger[key]:
                del self.ledger[key]
                if self.row(key) is None:
                    self.keys.pop(key, None)

    def _left_out(self, change: Change) -> dict[str, Any]:
        """What a change of key did not send."""
        if not change.left_out:
            return {}
        assert change.other is not None
        assert change.position
        return {name: self._before(change.other, name, change.position) for name in change.unavailable}

    def _before(self, key: Key, name: str, position: ChangePosition) -> Any:
        """What a column held before a position, by all changes that ever came, also those that were refused."""
        first: dict[ChangePosition, Change] = {}
        for change in sorted(self.came.get(key, ()), key=lambda c: c.arrival):
            if change.position and change.position < position:
                first.setdefault(change.position, change)
        newest = max(
            (c for c in first.values() if self._tells(c, name)), key=lambda c: c.position or NEVER, default=None
        )
        if (
            newest is None
            or newest.gone
            or newest.position is None
            or (self._covered(newest.position) and not self.soft)
        ):
            return None
        return self._left_out(newest)[name] if name in newest.unavailable else newest.columns[name]

    def _tells(self, change: Change, name: str) -> bool:
        return (change.left_out or name not in change.unavailable) and not (change.gone and self.soft)

    def _correct(self) -> None:
        """What was left out may have come late."""
        for change in (arrived for came in self.came.values() for arrived in came if arrived.left_out):
            columns = self.keys[change.key].columns if change.key in self.keys else {}
            for name, value in self._left_out(change).items():
                if name in columns and columns[name][0] == change.position:
                    columns[name] = (change.position, value)

    def stored(self, key: Key) -> dict[ChangePosition, Head]:
        """What mirror and ledger hold of a key: position to what was said there."""
        heads = dict(self.ledger.get(key, {}))
        row = self.row(key)
        if row is not None:
            head = self.keys[key].head
            assert head
            if not self._covered(head.position):  # a truncate comes before any change at its position
                heads[head.position] = head
        return heads

    def row(self, key: Key) -> dict[str, Any] | None:
        """What the mirror holds of a key."""
        registers = self.keys.get(key)
        if registers is None or registers.head is None:
            return None
        position, alive = registers.head.position, registers.head.alive
        columns = {name: registers.columns.get(name, (NEVER, None)) for name in self.names}
        if self._covered(position):
            assert self.truncated
            position, alive = self.truncated, False
        if not alive and not self.soft:
            return None
        if self.truncated and not self.soft:
            columns = {n: (self.truncated, None) if self._covered(p) else (p, v) for n, (p, v) in columns.items()}
        return {
            **{name: value for name, (_, value) in columns.items()},
            "position": position,
            "behind": {name: p for name, (p, _) in columns.items() if p < position},
            "deleted": not alive,
        }

    def rows(self) -> dict[Key, dict[str, Any]]:
        return {key: row for key in self.keys if (row := self.row(key)) is not None}

    def _covered(self, position: ChangePosition) -> bool:
        return self.truncated is not None and position < self.truncated

    def _too_late(self, change: Change, stored: Mapping[ChangePosition, Head], low_watermark: int) -> bool:
        if (
            change.lone
            or change.time is None
            or change.time >= low_watermark
            or stored
            or self.row(change.key) is not None
        ):
            return False
        assert change.position
        if self._covered(change.position):
            return False
        self.refused.append(("too_late", *change.arrival))
        return True

    def _placed(
        self, arrived: list[Change], before: Mapping[Key, Mapping[ChangePosition, Head]]
    ) -> Iterable[tuple[Change, ChangePosition, int | None]]:
        """Each change with position and time; a tombstone has those of the change before it, or else of the state."""
        last: dict[tuple[Key, int], tuple[ChangePosition, int | None]] = {}
        for change in arrived:
            place = (change.key, change.partition)
            if not change.lone:
                assert change.position
                last[place] = (change.position, change.time)
                yield change, *last[place]
            elif place in last:
                yield change, *last[place]
            elif stored := before[change.key]:
                newest = stored[max(stored)]
                yield change, newest.position, newest.time
