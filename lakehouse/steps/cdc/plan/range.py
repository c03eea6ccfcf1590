"""Plan: which snapshots of the changelog a run applies, decided from metadata before a row is read.

A range is (start, end] by snapshot id. Reading what was appended between two snapshots passes over every other kind of
commit in silence; so each snapshot of the range is looked at, and whatever removed rows is a refusal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from lakehouse import seal_keys
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.audit.chain import KIND_REPROCESS
from lakehouse.proofs.audit.retirement import is_harmless, retirement_of
from lakehouse.protocol.seals.history import ancestry, attempt_of, head_of, summary_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.refusals import (
    ChangelogReplaced,
    ChangelogRolledBack,
    ChangelogUnsealed,
    ChangesRetired,
    ForeignChange,
    OtherChangelog,
    RangeExpired,
)
from lakehouse.steps.cdc.statement import MirrorStatement

# A changelog whose runs bring no rows still lists a snapshot for each: at times the mirror follows, so that its lease
# does not hold on to all of them.
_EMPTY_SNAPSHOTS = 20


@dataclass(frozen=True)
class Range:
    """The changes of one run.

    Args:
        table: the changelog as it was loaded, once.
        start: snapshot after which the range begins; None: at the changelog's first row.
        end: snapshot with which it ends; it carries the seal of an ingest.
        changes: rows in it, by the summaries.
        behind: rows after it, left to the next run.
        snapshots: in it, oldest first; empty where it begins with the first row.
        arrived: what the seal at its end says.
        reprocessed: whether its changes came from the quarantine, and so later than others of their keys.
    """

    table: Table
    start: int | None
    end: int
    changes: int
    behind: int
    snapshots: tuple[Snapshot, ...]
    arrived: KafkaStatement
    reprocessed: bool = False

    @property
    def uuid(self) -> str:
        """Of the changelog."""
        return str(self.table.metadata.table_uuid)

    @property
    def sealed_us(self) -> int:
        """When its end was sealed, by our clock, microseconds: by then all of it had arrived."""
        snapshot = self.table.metadata.snapshot_by_id(self.end)
        assert snapshot is not None
        return snapshot.timestamp_ms * 1000

    @property
    def name(self) -> str:
        """Of the changelog."""
        return table_name(self.table)


def next_range(mirror: str, previous: MirrorStatement, changelog: Table, *, max_changes: int) -> Range | None:
    """The range that follows on a seal; None where there is nothing new.

    Args:
        mirror: for messages.
        previous: where the mirror stands.
        changelog: loaded once.
        max_changes: rows of one run, as far as the changelog's seals allow; one run of the changelog is not divided.

    Raises:
        MirrorRefused: one of its kinds.
    """
    name = table_name(changelog)
    if previous.changelog != name:
        raise OtherChangelog(mirror, previous.changelog, name)
    if previous.changelog_uuid != str(changelog.metadata.table_uuid):
        raise ChangelogReplaced(mirror, name, previous.changelog_uuid, str(changelog.metadata.table_uuid))
    snapshots = chain(mirror, changelog, previous.end, head_of(changelog), consumed=previous.kafka_end)
    candidates, reprocessed = _apart(snapshots)
    range_end = _ends(changelog, candidates, limit=max_changes)
    if range_end is None:
        return None
    index, arrived = range_end
    included = snapshots[: index + 1]
    changes = sum(map(appended, included))
    if not changes and len(included) < _EMPTY_SNAPSHOTS:
        return None
    behind = sum(map(appended, snapshots[index + 1 :]))
    end = snapshots[index].snapshot_id
    return Range(changelog, previous.end, end, changes, behind, tuple(included), arrived, reprocessed)


def _apart(snapshots: Sequence[Snapshot]) -> tuple[Sequence[Snapshot], bool]:
    """Snapshots up to where reprocessed changes begin, or as far as those of one reprocessing go if they come first.

    Returns:
        The snapshots, and whether their changes were reprocessed.
    """
    kind = seal_keys.KIND
    seal_indexes = {
        attempt_of(s): index for index, s in enumerate(snapshots) if summary_of(s).get(kind) == KIND_REPROCESS
    }
    first = next((index for index, s in enumerate(snapshots) if appended(s) and attempt_of(s) in seal_indexes), None)
    if first is None:
        return snapshots, False
    if any(map(appended, snapshots[:first])):
        return snapshots[:first], False
    return snapshots[: seal_indexes[attempt_of(snapshots[first])] + 1], True


def chain(mirror: str, changelog: Table, start: int, end: int | None, *, consumed: Mapping[int, int]) -> list[Snapshot]:
    """The snapshots of (start, end], oldest first, all of them there and none removing rows that are still needed.

    Args:
        mirror: for messages.
        changelog: loaded once.
        start: where the mirror stands.
        end: up to where.
        consumed: Kafka partition → first offset that is not in the mirror; what is older may be retired.

    Raises:
        RangeExpired: some are not listed any more.
        ChangelogRolledBack: `start` is not in the history of `end`.
        ForeignChange: one of them is neither an append nor a rewrite.
        ChangesRetired: one of them removed changes that are not in the mirror.
    """
    name = table_name(changelog)
    snapshots: list[Snapshot] = []
    for snapshot in ancestry(changelog, end):
        if snapshot.snapshot_id == start:
            break
        snapshots.append(snapshot)
    else:
        oldest = snapshots[-1] if snapshots else None
        snapshot_ids = {snapshot.snapshot_id for snapshot in snapshots}
        forked = any(snapshot.snapshot_id in snapshot_ids for snapshot in ancestry(changelog, start))
        if oldest is None or oldest.parent_snapshot_id is None or forked:
            raise ChangelogRolledBack(mirror, name, start, end)
        # The start itself may be gone while everything after it is there.
        if oldest.parent_snapshot_id != start:
            raise RangeExpired(mirror, name, start, oldest.snapshot_id)
    snapshots.reverse()
    for snapshot in snapshots:
        if not (keeps_rows(snapshot) or is_harmless(changelog, snapshot, consumed)):
            if retirement_of(changelog, snapshot) is not None:
                raise ChangesRetired(mirror, name, snapshot.snapshot_id)
            operation = snapshot.summary.operation.value if snapshot.summary else "unknown"
            raise ForeignChange(mirror, name, snapshot.snapshot_id, operation)
    return snapshots


def keeps_rows(snapshot: Snapshot) -> bool:
    """Whether a snapshot only added rows, or arranged them anew."""
    return snapshot.summary is not None and snapshot.summary.operation in (Operation.APPEND, Operation.REPLACE)


def whole_range(mirror: str, changelog: Table, *, max_changes: int | None = None) -> Range | None:
    """The changelog from its first row, up to its newest seal; None where it is empty.

    Args:
        mirror: for messages.
        changelog: loaded once.
        max_changes: end earlier, if a listed seal allows it.

    Raises:
        ChangelogUnsealed: it has rows, and no seal says up to where they are whole.
    """
    history = list(reversed(list(ancestry(changelog, head_of(changelog)))))
    sealed = [(index, arrived) for index, s in enumerate(history) if (arrived := ingested(changelog, s)) is not None]
    if not sealed:
        if any(total(snapshot) for snapshot in history):
            raise ChangelogUnsealed(mirror, table_name(changelog))
        return None
    with_rows = [candidate for candidate in sealed if total(history[candidate[0]])] or sealed
    fits = [candidate for candidate in with_rows if max_changes is None or total(history[candidate[0]]) <= max_changes]
    index, arrived = fits[-1] if fits else with_rows[0]
    end = history[index]
    behind = sum(map(appended, history[index + 1 :]))
    return Range(changelog, None, end.snapshot_id, total(end), behind, (), arrived)


def appended(snapshot: Snapshot) -> int:
    """Rows that a snapshot brought; others write rows anew that were there before."""
    appends = snapshot.summary is not None and snapshot.summary.operation == Operation.APPEND
    return int(summary_of(snapshot).get("added-records", "0")) if appends else 0


def ingested(changelog: Table, snapshot: Snapshot) -> KafkaStatement | None:
    """What a snapshot's seal says, if it carries that of a stream.

    Raises:
        SealBroken: it was changed after it was written.
    """
    where = f"{table_name(changelog)} snapshot {snapshot.snapshot_id}"
    seal = Seal.from_summary(summary_of(snapshot), where=where)
    return KafkaStatement.from_keys(seal.statement) if seal else None


def _ends(changelog: Table, snapshots: Sequence[Snapshot], *, limit: int) -> tuple[int, KafkaStatement] | None:
    """Place and statement of the last seal within the limit, or of the first one with rows."""
    best: tuple[int, KafkaStatement] | None = None
    rows, best_rows = 0, 0
    for index, snapshot in enumerate(snapshots):
        rows += appended(snapshot)
        if best is not None and best_rows and rows > limit:
            break
        if (arrived := ingested(changelog, snapshot)) is not None:
            best, best_rows = (index, arrived), rows
    return best


def total(snapshot: Snapshot) -> int:
    """Rows that the table held with a snapshot."""
    return int(summary_of(snapshot).get("total-records", "0"))
