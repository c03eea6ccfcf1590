"""What the audit log says of one thing that happened."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Literal, get_args

import msgspec

from lakehouse.protocol.journal.audit_row import AuditRow

Kind = Literal["commit", "run", "check", "release", "refusal", "maintenance", "gap"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_LONGEST_MESSAGE = 2000


@dataclass(frozen=True, kw_only=True)
class Event:
    """A row of the log.

    Attributes:
        id: what happened, as a name: whoever finds the same thing gives it the same one.
        kind: what kind of thing.
        timestamp: when it happened. It is part of what was found, so whoever finds it again gives the same.
        outcome: what came of it.
        message: in words, without the value of any row.
        table: `namespace.table`, where it happened to one.
        runtime_date: an ISO date, or empty.
        details: further facts, none of them the value of a row.
    """

    id: str
    kind: Kind
    timestamp: datetime
    outcome: str
    message: str
    table: str = ""
    snapshot_id: int | None = None
    severity: str = ""
    who: str = ""
    run_id: str = ""
    root_run_id: str = ""
    step: str = ""
    runtime_date: str = ""
    parameters_digest: str = ""
    code_version: str = ""
    details: Mapping[str, object] = field(default_factory=dict[str, object])

    def to_row(self, logged_at: datetime) -> AuditRow:
        """The row, with nulls where there is nothing to say."""
        return AuditRow(
            event_id=self.id,
            kind=self.kind,
            timestamp=self.timestamp,
            table_name=self.table or None,
            snapshot_id=self.snapshot_id,
            outcome=self.outcome,
            severity=self.severity or None,
            message=self.message[:_LONGEST_MESSAGE],
            who=self.who or None,
            run_id=self.run_id or None,
            root_run_id=self.root_run_id or None,
            step=self.step or None,
            runtime_date=date.fromisoformat(self.runtime_date) if self.runtime_date else None,
            parameters_digest=self.parameters_digest or None,
            code_version=self.code_version or None,
            details=msgspec.json.encode(self.details, order="sorted").decode(),
            logged_at=logged_at,
        )


# Which of some events are in the log already, by their ids.
Known = Callable[[Sequence[Event]], set[str]]


def nothing_known(_: Sequence[Event]) -> set[str]:
    """What a log without rows answers."""
    return set()


def moment(ms: int) -> datetime:
    """A snapshot's time."""
    return datetime.fromtimestamp(ms / 1000, UTC)
