"""A row of `lakehouse.maintenance`, typed: where its columns become values, and values become its columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec

from lakehouse.declarations.own_tables.action_effect import ActionEffect, ActionMeasures


@dataclass(frozen=True, kw_only=True)
class DecisionRow:
    """One action, as it was decided or as it ended. The columns are described in `maintenance_log`.

    Attributes:
        timestamp: column `at`.
        partitions: names, which show no value of a sensitive column; not all of many.
        partition_keys: of all of them.
        withheld: JSON that is written for people.
        state: JSON of what was measured, of which `state_digest` and `depth` are read again.
        policy: JSON, compared as it stands.
        measured: JSON of `ActionMeasures`, where the action has ended.
        health: in rows of earlier releases.
        predicted: in rows of earlier releases.
    """

    row_id: str
    phase: str
    timestamp: datetime
    table_name: str
    table_uuid: str
    snapshot_id: int | None
    metadata_file: str
    run_id: str | None
    attempt: str | None
    operation: str
    partitions: tuple[str, ...]
    partition_keys: tuple[str, ...]
    reasons: tuple[str, ...]
    blocked_by: tuple[str, ...]
    withheld: str
    result: str
    state: str
    policy: str
    message: str | None = None
    measured: str | None = None
    valid_until: datetime | None = None
    health: float | None = None
    predicted: str | None = None

    @property
    def finished(self) -> bool:
        """Whether it says what came of an action, and not that it was decided."""
        return self.phase == "finished"

    @property
    def state_digest(self) -> str:
        """Digest of the state that was measured, by which a plan is approved of."""
        return self._measured_state.digest

    @property
    def depth(self) -> str:
        """How closely the table was looked at."""
        return self._measured_state.depth

    @cached_property
    def effect(self) -> ActionEffect:
        """What the action did; nothing while it has not ended."""
        return ActionMeasures.from_json(self.measured).effect if self.measured else ActionEffect()

    @cached_property
    def _measured_state(self) -> "_MeasuredState":
        return msgspec.json.decode(self.state, type=_MeasuredState)

    def to_columns(self) -> dict[str, Any]:
        """As the table holds it."""
        columns = {_COLUMNS.get(name, name): getattr(self, name) for name in _FIELDS}
        return columns | {name: msgspec.json.encode(columns[name]).decode() for name in _LISTS}

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> "DecisionRow":
        """Read a row, of this release or of another."""
        values: dict[str, Any] = {name: columns.get(_COLUMNS.get(name, name)) for name in _FIELDS}
        for name in _LISTS:
            values[name] = msgspec.json.decode(values[name], type=tuple[str, ...])
        return cls(**values)


@dataclass(frozen=True)
class _MeasuredState:
    digest: str
    depth: str


_FIELDS = tuple(DecisionRow.__dataclass_fields__)
_COLUMNS = {"timestamp": "at"}
_LISTS = ("partitions", "partition_keys", "reasons", "blocked_by")
