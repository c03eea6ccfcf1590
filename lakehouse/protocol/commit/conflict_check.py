"""Before each try of a publish: what has become of the table since the attempt began?"""

import time
from datetime import UTC, datetime
from enum import Enum

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.protocol.catalog.clock import SKEW_LIMIT_MS
from lakehouse.protocol.commit.staged import Staged, require_descent
from lakehouse.protocol.errors import (
    ClockSkew,
    ForeignCommit,
    MainMoved,
    RolledBack,
    SchemaChanged,
    Superseded,
    TableReplaced,
)
from lakehouse.protocol.seals.history import (
    ancestry,
    attempt_of,
    head_of,
    is_rewrite,
    is_seal_only,
    leads_to,
    summary_of,
)
from lakehouse.protocol.seals.seal import MAINTENANCE


class ConflictVerdict(Enum):
    """What to do with one table."""

    PUBLISH = "publish"
    LANDED = "landed"
    REBASE = "rebase"


def check_conflict(staged: Staged, table: Table) -> ConflictVerdict:
    """Decide from a fresh load whether the staged head may become `main`.

    Raises:
        TableReplaced: another table has this name now.
        RolledBack: the branch is gone and its head is not in `main`.
        SchemaChanged: the current schema is not the one that was written with.
        ForeignCommit: somebody wrote outside the protocol, to `main` or to the branch.
        Superseded: another attempt published meanwhile.
        MainMoved: `main` does not descend from the base any more.
        ClockSkew: the table's history is ahead of our clock.
    """
    name = staged.base.name
    if str(table.metadata.table_uuid) != staged.base.uuid:
        raise TableReplaced(f"{name} was dropped and created anew during this attempt.", remedy="run the step again")
    main = head_of(table)
    if leads_to(table, main, staged.head, since=staged.base.snapshot_id):
        return ConflictVerdict.LANDED
    later_commits = _since_base(staged, table, main)
    _require_branch(staged, table)
    for snapshot in reversed(later_commits):
        _require_harmless(staged, snapshot)
    if table.metadata.current_schema_id != staged.base.schema_id:
        raise SchemaChanged(
            f"{name}: the schema changed from id {staged.base.schema_id} to {table.metadata.current_schema_id} "
            "after the rows were staged.",
            remedy="run the step again, it will write with the new schema",
        )
    require_descent(table, staged)
    _require_clock(name, table)
    return ConflictVerdict.REBASE if later_commits else ConflictVerdict.PUBLISH


def _require_clock(name: str, table: Table) -> None:
    """Refuse to write behind what is there; nobody can write earlier times after later ones, nor take those back.

    An entry can be set back to a document of before: it knows nothing of what a clock that was ahead has written.
    """
    now_ms, last_ms = time.time_ns() // 1_000_000, table.metadata.last_updated_ms
    if last_ms - now_ms <= SKEW_LIMIT_MS:
        return
    earlier = [
        entry.metadata_file for entry in table.metadata.metadata_log if entry.timestamp_ms - now_ms <= SKEW_LIMIT_MS
    ]
    until = datetime.fromtimestamp(last_ms / 1000, UTC)
    undo = (
        f"or, to undo what it wrote, drop the entry {name} without purging it and register it anew with {earlier[-1]}, "
        "and likewise every table that was written with it; the next run writes the rows again"
        if earlier
        else f"or drop {name} and make it anew, as no metadata from before is left"
    )
    raise ClockSkew(
        f"{name} was last written {(last_ms - now_ms) / 1000:.0f} s ahead of this machine's clock, "
        f"at {until:%Y-%m-%d %H:%M:%S} UTC.",
        remedy="set the clocks of all writers by NTP. If this machine's was right, a writer's was ahead: wait until "
        f"that time, {undo}",
    )


def _since_base(staged: Staged, table: Table, main: int | None) -> list[Snapshot]:
    """Commits of `main` after the base, newest first."""
    commits: list[Snapshot] = []
    for snapshot in ancestry(table, main):
        if snapshot.snapshot_id == staged.base.snapshot_id:
            return commits
        commits.append(snapshot)
    if staged.base.snapshot_id is None and (not commits or commits[-1].parent_snapshot_id is None):
        return commits
    base_history = {snapshot.snapshot_id for snapshot in ancestry(table, staged.base.snapshot_id)}
    for snapshot in reversed(commits):
        if snapshot.snapshot_id not in base_history:
            _refuse_twin(staged.base.name, snapshot, staged)
    raise MainMoved(
        f"{staged.base.name}: main is at {main} and does not descend from {staged.base.snapshot_id}, where this "
        "attempt began; it was rolled back or its history was expired.",
        remedy="run the step again from the present state",
    )


def _require_branch(staged: Staged, table: Table) -> None:
    head = head_of(table, staged.branch)
    if head == staged.head:
        return
    name = staged.base.name
    if head is not None:
        raise ForeignCommit(
            f"{name}: branch {staged.branch} is at {head}, this attempt left it at {staged.head}.",
            remedy="find out who writes to attempt branches, then run the step again",
        )
    for snapshot in ancestry(table, head_of(table)):
        if snapshot.snapshot_id == staged.base.snapshot_id:
            break
        _refuse_twin(name, snapshot, staged)
    raise RolledBack(
        f"{name}: branch {staged.branch} is gone and its head {staged.head} is not in main: it was published and taken "
        "back by an operator, or removed.",
        remedy="decide whether the rollback stands; a new run starts from the position that main holds now",
    )


def _refuse_twin(name: str, snapshot: Snapshot, staged: Staged) -> None:
    if staged.maintains:
        return
    attempt = attempt_of(snapshot)
    kind = summary_of(snapshot).get(seal_keys.KIND)
    if attempt not in (None, staged.attempt.id) and kind != MAINTENANCE and not is_rewrite(snapshot):
        raise Superseded(
            f"{name}: attempt {attempt} published snapshot {snapshot.snapshot_id} first.",
            remedy="nothing to do; the next run continues from there",
        )


def _require_harmless(staged: Staged, snapshot: Snapshot) -> None:
    """Refuse to go on after a commit that settles the matter; whether files were touched, the rebase finds out."""
    if is_rewrite(snapshot):
        return
    name, summary = staged.base.name, summary_of(snapshot)
    if attempt_of(snapshot) is not None:
        if staged.maintains or (is_seal_only(snapshot) and summary[seal_keys.KIND] == MAINTENANCE):
            return
        raise Superseded(
            f"{name}: attempt {attempt_of(snapshot)} published snapshot {snapshot.snapshot_id} first.",
            remedy="nothing to do; the next run continues from there",
        )
    raise ForeignCommit(
        f"{name}: snapshot {snapshot.snapshot_id} was written to main outside the protocol.",
        remedy="every writer of this table must publish through the protocol; `lakehouse audit` shows the damage",
    )
