"""A row of `lakehouse.audit_log`: the one shape in which events are written and read."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any


@dataclass(frozen=True)
class AuditRow:
    """One event, as it was logged. The columns are described in `audit_log`.

    Attributes:
        timestamp: column `at`.
        details: JSON.
    """

    event_id: str
    kind: str
    timestamp: datetime
    table_name: str | None
    snapshot_id: int | None
    outcome: str
    severity: str | None
    message: str
    who: str | None
    run_id: str | None
    root_run_id: str | None
    step: str | None
    runtime_date: date | None
    parameters_digest: str | None
    code_version: str | None
    details: str
    logged_at: datetime

    def to_columns(self) -> dict[str, Any]:
        """As the table holds it."""
        return {_COLUMNS.get(name, name): getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> "AuditRow":
        """Read a row, of this release or of another."""
        values: dict[str, Any] = {name: columns.get(_COLUMNS.get(name, name)) for name in _FIELDS}
        return cls(**values)


_FIELDS = tuple(AuditRow.__dataclass_fields__)
_COLUMNS = {"timestamp": "at"}
