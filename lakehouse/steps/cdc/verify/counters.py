"""The balance of a mirror, from metadata alone: no range left out, totals that add up, and counts that others confirm.

Three witnesses. The mirror's own seals: each range begins where the one before ended, and its totals are the sums. The
changelog's seals: what they say of a range, operation by operation, is what the mirror says it applied. Iceberg's own
counters in the mirror's snapshots: rows inserted, updated and deleted by each run.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from lakehouse.declarations import MirrorTables
from lakehouse.proofs.audit import Finding
from lakehouse.steps.cdc.evidence import Evidence, MirrorLink
from lakehouse.steps.cdc.statement import KIND_REBUILD, MirrorStatement
from lakehouse.steps.cdc.verify.cross_checks import (
    ChangelogSeals,
    counted,
    judge_counters,
    judge_operations,
    judge_rows,
)


@dataclass(frozen=True)
class BalanceProof:
    """What seals and counters add up to.

    Args:
        seals: of the mirror that are still there.
        rows: that the newest says the mirror holds.
        changes: applied since the build began.
        proven_from: witness → from which run on it could be asked; older commits are no longer listed.
    """

    mirror: str
    findings: tuple[Finding, ...] = ()
    seals: int = 0
    rows: int = 0
    changes: int = 0
    proven_from: Mapping[str, str] | None = None

    @property
    def holds(self) -> bool:
        """Whether everything adds up."""
        return not self.findings


def check_balance(tables: MirrorTables, seen: Evidence) -> BalanceProof:
    """Compare a mirror's seals with one another, with its changelog's, and with Iceberg's counters."""
    name, soft = tables.mirror.name, tables.mirror.deletes == "soft"
    findings = list(seen.findings)
    links = seen.links
    for link in links:
        findings += _judge_sums(name, link, soft=soft)
    for before, after in pairwise(links):
        findings += _judge_step(name, before, after)
    changelog = ChangelogSeals(seen.changelog.table, seen.changelog.snapshot_id)
    told: dict[str, str] = {"seals": _describe(links[0])} if links else {}
    for link in reversed([link for link in links if link.sealed.seal.kind != "maintenance"]):
        if (applied := counted(seen, link)) is not None:
            findings += judge_counters(name, link, applied, soft=soft)
            told["rows inserted, updated and deleted"] = _describe(link)
        if (operations := changelog.operations(link.statement)) is not None:
            findings += judge_operations(name, link, operations)
            told["changes of the changelog"] = _describe(link)
    findings += judge_rows(name, seen)
    newest = links[-1].statement if links else None
    return BalanceProof(
        mirror=name,
        findings=tuple(findings),
        seals=len(links),
        rows=newest.rows if newest else 0,
        changes=sum(newest.total_operations.values()) if newest else 0,
        proven_from=told,
    )


def _judge_sums(name: str, link: MirrorLink, *, soft: bool) -> Iterator[Finding]:
    """One seal with itself."""
    said, run = link.statement, link.run_id
    if sum(said.operations.values()) != said.changes:
        told = f"{sum(said.operations.values())} operations of {said.changes} changes"
        yield Finding("balance", f"{name}: the seal of run {run} counts {told}.", name)
    total = said.total_applied
    if said.rows != total.inserted - (0 if soft else total.deleted):
        told = f"{total.inserted} rows inserted and {total.deleted} deleted do not make {said.rows}"
        yield Finding("balance", f"{name}: by the seal of run {run}, {told}.", name)


def _judge_step(name: str, before: MirrorLink, after: MirrorLink) -> Iterator[Finding]:
    """One seal with the one before it."""
    was, now, run = before.statement, after.statement, after.run_id
    if after.sealed.seal.kind == "maintenance":
        if now != was:
            told = f"run {run} maintains the table, and changes what its seals say"
            yield Finding("balance", f"{name}: {told}.", name)
        return
    if now.build != was.build:
        if now.start is not None or after.sealed.seal.kind != KIND_REBUILD:
            told = f"run {run} begins another build in the middle of the changelog"
            yield Finding("gap", f"{name}: {told}.", name)
        was = MirrorStatement(was.changelog, was.changelog_uuid, now.build, None, now.end)
    elif now.start != was.end:
        told = f"run {run} goes on after changelog snapshot {now.start}, the one before ended with {was.end}"
        yield Finding("gap", f"{name}: {told}.", name)
    elif back := [p for p, end in was.kafka_end.items() if now.kafka_end.get(p, 0) < end]:
        told = f"run {run} ends before the one before it in Kafka partitions {', '.join(map(str, sorted(back)))}"
        yield Finding("overlap", f"{name}: {told}.", name)
    if Counter(now.total_operations) != Counter(was.total_operations) + Counter(now.operations):
        yield Finding("balance", f"{name}: by the seal of run {run}, the total of operations does not add up.", name)
    if now.total_applied != was.total_applied + now.applied:
        yield Finding("balance", f"{name}: by the seal of run {run}, the total of applied does not add up.", name)


def _describe(link: MirrorLink) -> str:
    at = datetime.fromtimestamp(link.sealed.timestamp_ms / 1000, UTC)
    return f"run {link.run_id}, {at:%Y-%m-%d %H:%M:%S} UTC"
