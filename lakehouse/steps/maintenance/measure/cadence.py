"""What the newest commits of a table were like, and how long one takes, from what the history still says."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

import msgspec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.protocol.seals.attempt import begun_ms
from lakehouse.protocol.seals.history import ancestry, attempt_of, head_of, is_rewrite, is_seal_only, summary_of
from lakehouse.steps.maintenance.measure.history import own_snapshots
from lakehouse.steps.maintenance.model.state import Cadence, SnapshotState

_NEWEST = 20
_SHORTEST = timedelta(minutes=1)  # a table that is younger than this tells nothing of an hour
_REMOVED = ("deleted-data-files", "added-delete-files")


def removes(snapshot: Snapshot) -> bool:
    """Whether it took rows away, by their files or by deletes."""
    return any(int(summary_of(snapshot).get(key, 0)) for key in _REMOVED)


def cadence_of(table: Table, history: Sequence[SnapshotState]) -> Cadence:
    """Read the cadence of a table from the summaries of its snapshots."""
    main = list(ancestry(table, head_of(table)))
    own = own_snapshots(table, history)
    foreign = [snapshot for snapshot in main if snapshot.snapshot_id not in own]
    writes = [snapshot for snapshot in foreign if not is_seal_only(snapshot)]
    removing = [snapshot for snapshot in writes if removes(snapshot)]
    times = _step_times(foreign)
    adding = [added for added in (_Added.by(snapshot) for snapshot in writes if not removes(snapshot)) if added.files]
    merges = [shares for shares in (_merge(table, snapshot) for snapshot in removing[:_NEWEST]) if shares is not None]
    return Cadence(
        appends_since_rewrite=_since_rewrite(main),
        commit_ms=median(times) if times else None,
        append_bytes=int(median(added.bytes for added in adding[:_NEWEST])) if adding else None,
        append_files=int(median(added.files for added in adding[:_NEWEST])) if adding else None,
        append_partitions=int(median(added.partitions for added in adding[:_NEWEST])) if adding else None,
        changed_share=median(changed for changed, _ in merges) if merges else None,
        copied_share=median(copied for _, copied in merges) if merges else None,
    )


def hours_of(history: Iterable[SnapshotState], now: datetime) -> float:
    """How far back the history of `main` goes."""
    oldest = min((snapshot.timestamp for snapshot in history if snapshot.on_main), default=now)
    return max(now - oldest, _SHORTEST) / timedelta(hours=1)


def _since_rewrite(main: Sequence[Snapshot]) -> int | None:
    """Commits that added files, back to the newest rewrite; None where neither it nor the beginning is known."""
    added = 0
    for snapshot in main:
        if is_rewrite(snapshot):
            return added
        added += int(summary_of(snapshot).get("added-data-files", 0)) > 0
    return None if main and main[-1].parent_snapshot_id is not None else added


def _step_times(foreign: Sequence[Snapshot]) -> list[float]:
    """From the beginning of each attempt to its seal, newest first, in milliseconds."""
    times = [
        float(snapshot.timestamp_ms - begun)
        for snapshot in foreign
        if seal_keys.KIND in summary_of(snapshot) and (begun := begun_ms(f"_{attempt_of(snapshot) or ''}"))
    ]
    return [time for time in times if time >= 0]


@dataclass(frozen=True)
class _Added:
    bytes: int
    files: int
    partitions: int

    @classmethod
    def by(cls, snapshot: Snapshot) -> "_Added":
        summary = summary_of(snapshot)
        return cls(
            int(summary.get("added-files-size", 0)),
            int(summary.get("added-data-files", 0)),
            int(summary.get("changed-partition-count", 1)),
        )


def _merge(table: Table, snapshot: Snapshot) -> tuple[float, float] | None:
    """Shares of the rows that a commit changed, and that it wrote anew to do so."""
    summary = summary_of(snapshot)
    rows = int(summary.get("total-records", 0))
    if not rows:
        return None
    copied = int(summary.get("deleted-records", 0))
    named = int(summary.get("added-position-deletes", 0))
    changed = _applied(_seal_over(table, snapshot)) or named or copied
    return min(changed / rows, 1.0), min(copied / rows, 1.0)


def _seal_over(table: Table, snapshot: Snapshot) -> Mapping[str, str]:
    """What the step that made a snapshot says in its seal, which lies right above it."""
    for candidate in table.metadata.snapshots:
        if attempt_of(candidate) == attempt_of(snapshot) and seal_keys.KIND in summary_of(candidate):
            return summary_of(candidate)
    return {}


def _applied(seal: Mapping[str, str]) -> int:
    """Rows that a mirror's step updated and deleted."""
    text = seal.get(seal_keys.PREFIX + seal_keys.MIRROR_APPLIED)
    if text is None:
        return 0
    applied = msgspec.json.decode(text, type=dict[str, int])
    return applied.get("updated", 0) + applied.get("deleted", 0)
