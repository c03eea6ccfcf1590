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


def check_balance(tables: MirrorTables, evidence: Evidence) -> BalanceProof:
    """Compare a mirror's seals with one another, with its changelog's, and with Iceberg's counters."""
    name, soft = tables.mirror.name, tables.mirror.deletes == "soft"
    findings = list(evidence.findings)
    links = evidence.links
    for link in links:
        findings += _judge_sums(name, link, soft=soft)
    changelog = ChangelogSeals(evidence.changelog.table, evidence.changelog.snapshot_id)
    for before, after in pairwise(links):
        findings += _judge_step(name, before, after, changelog)
    proven_from: dict[str, str] = {"seals": _describe(links[0])} if links else {}
    for link in reversed([link for link in links if link.sealed.seal.kind != "maintenance"]):
        if (applied := counted(evidence, link)) is not None:
            findings += judge_counters(name, link, applied, soft=soft)
            proven_from["rows inserted, updated and deleted"] = _describe(link)
        if (operations := changelog.operations(link.statement)) is not None:
            findings += judge_operations(name, link, operations)
            proven_from["changes of the changelog"] = _describe(link)
    findings += judge_rows(name, evidence)
    newest = links[-1].statement if links else None
    return BalanceProof(
        mirror=name,
        findings=tuple(findings),
        seals=len(links),
        rows=newest.rows if newest else 0,
        changes=sum(newest.total_operations.values()) if newest else 0,
        proven_from=proven_from,
    )


def _judge_sums(name: str, link: MirrorLink, *, soft: bool) -> Iterator[Finding]:
    """One seal with itself."""
    statement, run = link.statement, link.run_id
    if sum(statement.operations.values()) != statement.changes:
        message = f"{sum(statement.operations.values())} operations of {statement.changes} changes"
        yield Finding("balance", f"{name}: the seal of run {run} counts {message}.", name)
    total = statement.total_applied
    if statement.rows != total.inserted - (0 if soft else total.deleted):
        message = f"{total.inserted} rows inserted and {total.deleted} deleted do not make {statement.rows}"
        yield Finding("balance", f"{name}: by the seal of run {run}, {message}.", name)


def _judge_step(name: str, before: MirrorLink, after: MirrorLink, changelog: ChangelogSeals) -> Iterator[Finding]:
    """One seal with the one before it."""
    previous, current, run = before.statement, after.statement, after.run_id
    if after.sealed.seal.kind == "maintenance":
        if current != previous:
            message = f"run {run} maintains the table, and changes what its seals say"
            yield Finding("balance", f"{name}: {message}.", name)
        return
    if current.build != previous.build:
        if current.start is not None or after.sealed.seal.kind != KIND_REBUILD:
            message = f"run {run} begins another build in the middle of the changelog"
            yield Finding("gap", f"{name}: {message}.", name)
        previous = MirrorStatement(previous.changelog, previous.changelog_uuid, current.build, None, current.end)
    elif current.start != previous.end:
        message = (
            f"run {run} goes on after changelog snapshot {current.start}, the one before ended with {previous.end}"
        )
        yield Finding("gap", f"{name}: {message}.", name)
    elif (
        rewound := [
            partition for partition, end in previous.kafka_end.items() if current.kafka_end.get(partition, 0) < end
        ]
    ) and not changelog.may_begin_anew(current):
        message = f"run {run} ends before the one before it in Kafka partitions {', '.join(map(str, sorted(rewound)))}"
        yield Finding("overlap", f"{name}: {message}.", name)
    if Counter(current.total_operations) != Counter(previous.total_operations) + Counter(current.operations):
        yield Finding("balance", f"{name}: by the seal of run {run}, the total of operations does not add up.", name)
    if current.total_applied != previous.total_applied + current.applied:
        yield Finding("balance", f"{name}: by the seal of run {run}, the total of applied does not add up.", name)


def _describe(link: MirrorLink) -> str:
    committed_at = datetime.fromtimestamp(link.sealed.timestamp_ms / 1000, UTC)
    return f"run {link.run_id}, {committed_at:%Y-%m-%d %H:%M:%S} UTC"
