"""What an operation of maintenance did, in numbers: the JSON in the column `measured` of `lakehouse.maintenance`.

It is stored for good, so a field is never renamed. Fields of other releases are passed over where a row is read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import msgspec


@dataclass(frozen=True, kw_only=True)
class TableMeasure:
    """The table in the same words, before or after an action.

    Attributes:
        files: data and delete files; of a manifest rewrite, manifests.
        bytes: that were written anew by then.
        seconds: of work by then.
        plan_ms: to plan a scan.
        snapshots: entries of the document.
    """

    files: int = 0
    bytes: int = 0
    seconds: float = 0.0
    plan_ms: float = 0.0
    snapshots: int = 0


@dataclass(frozen=True, kw_only=True)
class ActionEffect:
    """What an operation counted; None is what it does not count. People are shown the fields in this order.

    Attributes:
        branches: of dead runs that it removed, or would.
        leases: overdue ones that it dropped.
        snapshots: that it expired.
        files: that it deleted with them.
        metadata_files: and of those, or beside them, metadata.
        candidates: files that no snapshot knows, noted for the first time.
        reprieved: noted earlier, and known again.
        waiting: noted, and not long enough ago.
        orphans: that may go, or went.
        deleted: orphans that went.
        columns: whose distinct values it counted.
        bytes: of the orphans that went, or of the file of statistics.
        rows_removed: that were there twice.
        partitions: that they were in.
        rows_to_remove: that are there twice, where nobody has allowed to remove them.
        counted_until_ms: the newest snapshot of `main` that was looked through for such rows.
        files_out: that a rewrite took out.
        files_in: that it put in their place.
        rows: that were proven to be the same.
        proof_seconds: how long that took.
        proof_engine: that proved it.
        rebases: how often it was put on top of what others had published meanwhile.
        died: its run died, and some of it may be gone.
        seconds: how long it took, all in all.
    """

    branches: int | None = None
    leases: int | None = None
    snapshots: int | None = None
    files: int | None = None
    metadata_files: int | None = None
    candidates: int | None = None
    reprieved: int | None = None
    waiting: int | None = None
    orphans: int | None = None
    deleted: int | None = None
    columns: int | None = None
    bytes: int | None = None
    rows_removed: int | None = None
    partitions: int | None = None
    rows_to_remove: int | None = None
    counted_until_ms: int | None = None
    files_out: int | None = None
    files_in: int | None = None
    rows: int | None = None
    proof_seconds: float | None = None
    proof_engine: str | None = None
    rebases: int | None = None
    died: bool | None = None
    seconds: float | None = None

    def counted(self) -> Mapping[str, int | float | str]:
        """What was counted, by name."""
        values = {column.name: getattr(self, column.name) for column in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class ActionMeasures:
    """A table before and after an action, and the action's effect.

    Attributes:
        before: the table before the action.
        after: and after it; None where it is as before.
        effect: what else there is to know.
    """

    before: TableMeasure = field(default_factory=TableMeasure)
    after: TableMeasure | None = None
    effect: ActionEffect = field(default_factory=ActionEffect)

    def to_json(self) -> str:
        """As the column holds it."""
        stored = {"before": self.before, "after": self.after, "facts": self.effect.counted()}
        return msgspec.json.encode(stored, order="sorted").decode()

    @classmethod
    def from_json(cls, text: str) -> "ActionMeasures":
        """Read the column, of this release or of another."""
        stored = msgspec.json.decode(text, type=_Stored)
        return cls(stored.before, stored.after, stored.facts)


@dataclass(frozen=True)
class _Stored:
    before: TableMeasure = field(default_factory=TableMeasure)
    after: TableMeasure | None = None
    facts: ActionEffect = field(default_factory=ActionEffect)
