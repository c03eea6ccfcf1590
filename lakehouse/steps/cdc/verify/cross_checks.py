"""Who else can say what a mirror's run did: Iceberg's counters in its snapshots, and the changelog's seals."""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.audit import Finding
from lakehouse.proofs.audit.chain import KIND_NEW_EPOCH, KIND_REPROCESS
from lakehouse.protocol.seals.history import ancestry, attempt_of, summary_of
from lakehouse.steps.cdc.evidence import Evidence, MirrorLink
from lakehouse.steps.cdc.statement import Applied, MirrorStatement

_COUNTER = "spark.merge-into.num-target-rows-"


def counted(evidence: Evidence, link: MirrorLink) -> Applied | None:
    """Ask Iceberg's counters for the snapshots of one attempt, or None where they are not all listed any more."""
    table = evidence.mirror.table
    rows, refused = Counter[str](), 0
    own = _of_attempt(table, link.sealed.snapshot_id, link.sealed.seal.attempt)
    quarantine = _of_attempt(evidence.quarantine.table, evidence.quarantine.snapshot_id, link.sealed.seal.attempt)
    if own is None or quarantine is None:
        return None
    for snapshot in own:
        summary = summary_of(snapshot)
        if any(key.startswith(_COUNTER) for key in summary):
            rows.update({n: int(summary.get(f"{_COUNTER}{n}", "0")) for n in ("inserted", "updated", "deleted")})
        else:
            rows["inserted"] += int(summary.get("added-records", "0"))
    for snapshot in quarantine:
        refused += int(summary_of(snapshot).get("added-records", "0"))
    return Applied(rows["inserted"], rows["updated"], rows["deleted"], too_late=refused)


def _of_attempt(table: Table, head: int | None, attempt: str) -> list[Snapshot] | None:
    """The snapshots of an attempt, seal included, if all of them are listed."""
    snapshots: list[Snapshot] = []
    for snapshot in ancestry(table, head):
        if attempt_of(snapshot) == attempt:
            snapshots.append(snapshot)
        elif snapshots:
            return snapshots
    whole = bool(snapshots) and snapshots[-1].parent_snapshot_id is None
    return snapshots if whole else None


def judge_counters(name: str, link: MirrorLink, counted: Applied, *, soft: bool) -> Iterator[Finding]:
    """Compare a seal with Iceberg's counters."""
    applied, run = link.statement.applied, link.run_id
    refused = applied.contradictions + applied.too_late
    # Where deletes are soft, to mark a row as deleted is to update it.
    expected = Applied(
        applied.inserted,
        applied.updated + (applied.deleted if soft else 0),
        0 if soft else applied.deleted,
        too_late=refused,
    )
    if counted != expected:
        yield Finding(
            "counters_differ",
            f"{name}: by its seal run {run} inserted {expected.inserted} rows, updated {expected.updated}, deleted "
            f"{expected.deleted} and refused {refused} changes; by Iceberg's counters {counted.inserted}, "
            f"{counted.updated}, {counted.deleted} and {counted.too_late}.",
            name,
        )


def judge_rows(name: str, evidence: Evidence) -> Iterator[Finding]:
    """The newest seal's number of rows with the table's own count, as exactly as delete files allow."""
    if not evidence.links:
        return
    sealed = evidence.mirror.table.metadata.snapshot_by_id(evidence.links[-1].sealed.snapshot_id)
    summary = summary_of(sealed) if sealed else {}
    if "total-records" not in summary:
        return
    total, hidden = int(summary["total-records"]), int(summary.get("total-position-deletes", "0"))
    rows = evidence.links[-1].statement.rows
    # A delete that nobody has cleaned away may hide a row that is not there any more.
    if not total - hidden <= rows <= total:
        message = f"by its seal {rows} rows, by Iceberg's count {total} less at most {hidden}"
        yield Finding("rows_differ", f"{name} holds {message}.", name)


class ChangelogSeals:
    """What the changelog's seals say of ranges."""

    def __init__(self, table: Table, head: int | None) -> None:
        """Of a loaded changelog, up to a snapshot."""
        self._table = table
        self._name = table_name(table)
        self._history = list(ancestry(table, head))
        self._indexes = {snapshot.snapshot_id: index for index, snapshot in enumerate(self._history)}

    def operations(self, statement: MirrorStatement) -> dict[str, int] | None:
        """Operation → changes in (start, end], or None where some of the range's seals are not there, or do not say."""
        if statement.end not in self._indexes or str(self._table.metadata.table_uuid) != statement.changelog_uuid:
            return None
        begin = self._begin(statement.start)
        if begin is None:
            return None
        totals: Counter[str] = Counter()
        for snapshot in self._history[self._indexes[statement.end] : begin]:
            summary = summary_of(snapshot)
            kind = summary.get(seal_keys.KIND)
            counts_changes = kind in ("ingest", KIND_REPROCESS)
            if kind == "adopt" or (
                counts_changes and f"{seal_keys.PREFIX}{seal_keys.CHANGES_OPERATIONS}" not in summary
            ):
                return None
            if not counts_changes:
                continue
            by_table = msgspec.json.decode(
                summary[f"{seal_keys.PREFIX}{seal_keys.CHANGES_OPERATIONS}"], type=dict[str, dict[str, int]]
            )
            totals.update(by_table.get(self._name, {}))
        return {operation: count for operation, count in totals.items() if count}

    def may_begin_anew(self, statement: MirrorStatement) -> bool:
        """Whether in a range the stream began with another topic, and offsets with it; or nobody can say any more.

        It may have done so while the changelog was out of it, too.
        """
        begin = self._begin(statement.start)
        if begin is None or statement.end not in self._indexes:
            return True
        snapshots = self._history[self._indexes[statement.end] : begin]
        joined = f"{seal_keys.PREFIX}{seal_keys.KAFKA_JOINED}"
        summaries = [summary_of(snapshot) for snapshot in snapshots]
        return any(summary.get(seal_keys.KIND) == KIND_NEW_EPOCH or joined in summary for summary in summaries)

    def _begin(self, start: int | None) -> int | None:
        """Place of the first snapshot before the range."""
        oldest = self._history[-1]
        if start in self._indexes:
            return self._indexes[start]
        return len(self._history) if oldest.parent_snapshot_id == start else None


def judge_operations(name: str, link: MirrorLink, operations: Mapping[str, int]) -> Iterator[Finding]:
    """Compare a seal with what the changelog's seals say of its range."""
    applied = {operation: count for operation, count in link.statement.operations.items() if count}
    if applied != operations:
        yield Finding(
            "operations_differ",
            f"{name}: run {link.run_id} says it applied {_shown(applied)}; the seals of {link.statement.changelog} in "
            f"that range say {_shown(operations)}.",
            name,
        )


def _shown(operations: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {operation}" for operation, count in sorted(operations.items())) or "nothing"
