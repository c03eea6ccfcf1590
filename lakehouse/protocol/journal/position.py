"""How far the audit log has come, carried by its own newest seal.

It only spares looking again at what is logged: whether an event is in the log is decided by its id.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec

from lakehouse import seal_keys
from lakehouse.protocol.journal.event import Event
from lakehouse.protocol.seals.history import Sealed

# Instances that nobody has heard of for long do not stay in every seal.
_MOST_INSTANCES = 16


class MainEntry(msgspec.Struct, frozen=True):
    """An entry of the log that a table's metadata keep of `main`: where it was set to, and when."""

    snapshot_id: int
    at_ms: int


class Seen(msgspec.Struct, frozen=True):
    """How far the history of one table is logged.

    Attributes:
        uuid: of the table.
        snapshot_id: the newest snapshot of `main` that was looked at.
        seal: digest of the newest seal at or before it, empty if there was none.
        moved: the last move of `main` that was looked at.
    """

    uuid: str
    snapshot_id: int
    seal: str = ""
    moved: MainEntry | None = None


@dataclass(frozen=True)
class JournalPosition:
    """How far everything is logged.

    Attributes:
        tables: table → the newest snapshot.
        runs: Dagster instance → when the newest of its finished runs was last changed, in milliseconds.
    """

    tables: Mapping[str, Seen] = field(default_factory=dict[str, Seen])
    runs: Mapping[str, int] = field(default_factory=dict[str, int])

    def with_table(self, name: str, seen: Seen) -> "JournalPosition":
        """The position after a look at one table."""
        return replace(self, tables={**self.tables, name: seen})

    def without_table(self, name: str) -> "JournalPosition":
        """The position after a table is gone."""
        return replace(self, tables={table: seen for table, seen in self.tables.items() if table != name})

    def with_runs(self, instance: str, until_ms: int) -> "JournalPosition":
        """The position after a look at the runs of one Dagster instance."""
        runs = {**self.runs, instance: until_ms}
        newest = sorted(runs, key=lambda name: runs[name])[-_MOST_INSTANCES:]
        return replace(self, runs={name: runs[name] for name in newest})

    def to_keys(self) -> dict[str, str]:
        """The position as flat keys of a seal."""
        return {
            seal_keys.JOURNAL_TABLES: msgspec.json.encode(self.tables, order="sorted").decode(),
            seal_keys.JOURNAL_RUNS: msgspec.json.encode(self.runs, order="sorted").decode(),
        }

    @classmethod
    def of(cls, sealed: Sealed | None) -> "JournalPosition":
        """What the log's newest seal says; nothing seen yet if there is none."""
        keys = sealed.seal.statement if sealed else {}
        if seal_keys.JOURNAL_TABLES not in keys:
            return cls()
        return cls(
            tables=msgspec.json.decode(keys[seal_keys.JOURNAL_TABLES], type=dict[str, Seen]),
            runs=msgspec.json.decode(keys[seal_keys.JOURNAL_RUNS], type=dict[str, int]),
        )


@dataclass(frozen=True)
class JournalNews:
    """What a look found.

    Attributes:
        events: oldest first; some may be in the log already.
        position: how far everything is logged once they are.
        more: whether there was too much for one look.
        trouble: table → why nobody could look at it; what it has to tell comes with a later look.
    """

    events: tuple[Event, ...]
    position: JournalPosition
    more: bool = False
    trouble: Mapping[str, str] = field(default_factory=dict[str, str])
