"""What the pointer's seal says: which release is current, what it consists of, and which others stay readable.

Flat string keys, without the `lakehouse.` prefix that the seal adds. A reader needs this and no data file.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from lakehouse import seal_keys

KIND_RELEASE = "release"
KIND_ROLLBACK = "rollback"


class ReleaseMember(msgspec.Struct, frozen=True):
    """One table of a release.

    Attributes:
        table: `namespace.table`.
        uuid: of that table, so that one that was created anew under the same name is recognised.
        snapshot_id: what the tag names.
        runtime_date: that its seal carries; empty for a dateless table.
        rows: that it holds there; None where its summary cannot tell.
        run_id: the run that wrote it.
    """

    table: str
    uuid: str
    snapshot_id: int
    runtime_date: str = ""
    rows: int | None = None
    run_id: str = ""


@dataclass(frozen=True)
class PointerStatement:
    """The release part of a seal.

    Args:
        current: id of the release that readers get.
        members: its tables.
        kept: ids that stay readable, newest first; a tag of any other that is older than `newest` may be dropped.
        tables: every table that may carry a tag; more than the members where one has left the group.
        newest: the newest id ever, also while the pointer is rolled back: the next one sorts behind it.
        newest_members: its tables; the same as `members` unless the pointer is rolled back.
        moved_ms: when the pointer was moved, in milliseconds since the epoch.
    """

    current: str
    members: tuple[ReleaseMember, ...]
    kept: tuple[str, ...]
    tables: tuple[str, ...]
    newest: str
    newest_members: tuple[ReleaseMember, ...]
    moved_ms: int

    @property
    def rolled_back(self) -> bool:
        """Whether the current release is not the newest one."""
        return self.current != self.newest

    def to_keys(self) -> dict[str, str]:
        """The statement as flat keys."""
        return {
            seal_keys.RELEASE_CURRENT: self.current,
            seal_keys.RELEASE_MEMBERS: _json(self.members),
            seal_keys.RELEASE_KEPT: _json(self.kept),
            seal_keys.RELEASE_TABLES: _json(self.tables),
            seal_keys.RELEASE_NEWEST: self.newest,
            seal_keys.RELEASE_NEWEST_MEMBERS: _json(self.newest_members) if self.rolled_back else "",
            seal_keys.RELEASE_MOVED_MS: str(self.moved_ms),
        }

    @classmethod
    def from_keys(cls, keys: Mapping[str, str]) -> "PointerStatement | None":
        """Read a statement back, or None where the keys are not about a release."""
        if seal_keys.RELEASE_CURRENT not in keys:
            return None
        members = _members(keys[seal_keys.RELEASE_MEMBERS])
        return cls(
            current=keys[seal_keys.RELEASE_CURRENT],
            members=members,
            kept=msgspec.json.decode(keys[seal_keys.RELEASE_KEPT], type=tuple[str, ...]),
            tables=msgspec.json.decode(keys[seal_keys.RELEASE_TABLES], type=tuple[str, ...]),
            newest=keys[seal_keys.RELEASE_NEWEST],
            newest_members=_members(keys[seal_keys.RELEASE_NEWEST_MEMBERS])
            if keys[seal_keys.RELEASE_NEWEST_MEMBERS]
            else members,
            moved_ms=int(keys[seal_keys.RELEASE_MOVED_MS]),
        )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _members(text: str) -> tuple[ReleaseMember, ...]:
    return msgspec.json.decode(text, type=tuple[ReleaseMember, ...])
