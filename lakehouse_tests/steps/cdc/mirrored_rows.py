"""Changes as rows, and what a mirror makes of them by the definition, in plain Python."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from lakehouse.steps.cdc.position import ChangePosition
from lakehouse.steps.cdc.statement import Applied

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = ("id", "name", "weight", "song")
Row = dict[str, Any]


def change(operation: str, commit: int | None, key: int | None = None, /, *, partition: int = 0, **more: Any) -> Row:
    """One change at (0, commit, 0); `name=…` and so on are its image, `without=("song",)` was not sent."""
    sequence, epoch = more.pop("sequence", 0), more.pop("epoch", 0)
    without, late = tuple(more.pop("without", ())), more.pop("late", 0)
    other = more.pop("other", None)
    image = {"id": key, "name": None, "weight": None, "song": None, **more}
    time = None if commit is None else BEGAN + timedelta(seconds=commit - late)
    return {
        "operation": operation,
        "key": None if key is None else {"id": key},
        "other_key": None if other is None else {"id": other},
        "after": image if operation in ("insert", "update", "read") else None,
        "unavailable": list(without) or None,
        "position": None if commit is None else {"epoch": epoch, "commit": commit, "sequence": sequence},
        "source_time": time,
        "_kafka_partition": partition,
    }


def insert(commit: int, key: int, **more: Any) -> Row:
    """A row with a name."""
    return change("insert", commit, key, **{"name": f"bird {key}", "weight": 1.0, "song": f"song {key}"} | more)


def refusal(key: bytes | None, value: bytes | None, /, *, partition: int = 0, error: str = "wrong_type") -> Row:
    """A message that the stream refuses."""
    return {"refused_row": {"key": key, "value": value, "error_class": error}, "_kafka_partition": partition}


def fold(changes: Sequence[Row], *, soft: bool = False) -> tuple[dict[int, Row], dict[int, Row]]:
    """Rows and tombstones by key, from the definition: registers, change by change, in plain Python."""
    registers: dict[int, dict[str, tuple[ChangePosition, Any]]] = {}
    heads: dict[int, tuple[ChangePosition, bool, datetime | None]] = {}
    said: dict[tuple[int, int], ChangePosition] = {}
    truncated = max((ChangePosition.of(c["position"]) for c in changes if c["operation"] == "truncate"), default=None)
    before = _Before(changes, None if soft else truncated, soft=soft)
    for c in changes:
        operation, key = c["operation"], (c["key"] or {}).get("id")
        if operation in ("control", "truncate"):
            continue
        place = (c["_kafka_partition"], key)
        position = ChangePosition.of(c["position"]) or said.get(place)
        if position is None:
            continue
        if c["position"]:
            said[place] = position
        alive = operation in ("insert", "update", "read")
        wins = operation == "tombstone" and c["position"] is None
        head = heads.get(key)
        if head is None or position > head[0] or (wins and position == head[0] and head[1]):
            heads[key] = position, alive, c["source_time"] or BEGAN + timedelta(seconds=position.commit)
        if not alive and soft:
            continue
        for name in COLUMNS:
            unsent = alive and name in (c["unavailable"] or ())
            if unsent and not left_out(c):
                continue
            mine = registers.setdefault(key, {})
            if name not in mine or position > mine[name][0] or (wins and position == mine[name][0]):
                told = before.value(c["other_key"]["id"], name, position) if unsent else c["after"] and c["after"][name]
                mine[name] = position, told
    rows: dict[int, Row] = {}
    gone: dict[int, Row] = {}
    for key, (position, alive, time) in heads.items():
        remembered = {
            "_cdc_position": position._asdict(),
            "_cdc_source_time": time,
            "_cdc_digest": zlib.crc32(repr((key, position)).encode()),
        }
        if not soft and truncated is not None and position < truncated:
            continue
        if not alive and not soft:
            gone[key] = {"id": key, **remembered}
            continue
        late = soft and truncated is not None and position < truncated
        at = truncated if late else position
        rows[key] = remembered | _row(key, at, registers.get(key, {}), None if soft else truncated)
        rows[key]["_cdc_position"] = at._asdict()
        if soft:
            rows[key]["_cdc_deleted"] = not alive or late
    return rows, gone


def left_out(c: Row) -> bool:
    """Whether a change of key left values out."""
    return c["operation"] == "insert" and bool(c["other_key"] and c["unavailable"])


@dataclass
class _Before:
    """What keys held before a position."""

    changes: Sequence[Row]
    wiped: ChangePosition | None
    soft: bool

    def value(self, key: int, name: str, position: ChangePosition) -> Any:
        told = [
            c
            for c in self.changes
            if c["key"] == {"id": key}
            and c["position"]
            and ChangePosition.of(c["position"]) < position
            and self._tells(c, name)
        ]
        last = max(told, key=lambda c: ChangePosition.of(c["position"]), default=None)
        if last is None or last["after"] is None or (self.wiped and ChangePosition.of(last["position"]) < self.wiped):
            return None
        if name in (last["unavailable"] or ()):
            return self.value(last["other_key"]["id"], name, ChangePosition.of(last["position"]))
        return last["after"][name]

    def _tells(self, c: Row, name: str) -> bool:
        if c["operation"] in ("delete", "tombstone"):
            return not self.soft
        return c["after"] is not None and (name not in (c["unavailable"] or ()) or left_out(c))


def _row(
    key: int,
    position: ChangePosition,
    registers: Mapping[str, tuple[ChangePosition, Any]],
    wiped: ChangePosition | None,
) -> Row:
    row: Row = {"id": key}
    behind: list[tuple[str, Row]] = []
    for name in sorted(COLUMNS[1:]):
        at, value = registers.get(name, (None, None))
        if wiped is not None and (at is None or at < wiped):
            at, value = wiped, None
        row[name] = value
        at = at or ChangePosition(-1, -1, -1)
        if at < position:
            behind.append((name, at._asdict()))
    return {**row, "_cdc_behind": behind or None}


def counted(rows: Sequence[Row]) -> dict[str, int]:
    names = [row["operation"] for row in rows]
    return {name: names.count(name) for name in sorted(set(names))}


def _same(one: Row, other: Row) -> bool:
    return all(one[name] == other[name] for name in ("operation", "key", "position", "after"))


def refused_row(c: Row, keys: Mapping[str, str]) -> Row:
    return {
        "reason": "contradiction",
        "message": "Two things at one position.",
        "operation": c["operation"],
        "key": str(c["key"]),
        "position": c["position"],
        "source_time": c["source_time"],
        "topic": c["_kafka_topic"],
        "partition": c["_kafka_partition"],
        "offset": c["_kafka_offset"],
        "build": keys["mirror.build"],
        "run_id": "run",
    }


def applied_of(old: Mapping[int, Row], new: Mapping[int, Row], refused: Sequence[Row], *, soft: bool) -> Applied:
    went = (
        [k for k in new if k in old and new[k]["_cdc_deleted"] > old[k]["_cdc_deleted"]]
        if soft
        else [k for k in old if k not in new]
    )
    changed = [k for k in new if k in old and new[k] != old[k]]
    return Applied(
        inserted=len([k for k in new if k not in old]),
        updated=len([k for k in changed if k not in went]),
        deleted=len(went),
        contradictions=len(refused),
    )


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
