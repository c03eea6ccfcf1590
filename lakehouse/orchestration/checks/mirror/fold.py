"""Fold: is the mirror what its changelog makes, row by row?"""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.proofs.audit import Finding
from lakehouse.steps.cdc.verify.compare import Example
from lakehouse.steps.cdc.verify.verify import FoldProof

NAME = "mirror_is_its_changelog"
DESCRIPTION = (
    "Folds every change of the changelog again, without Spark, and compares the outcome with the mirror's rows: "
    "values, positions, and what is remembered of each. Says which rows are missing, which should not be there and "
    "which differ, by key. A large mirror is compared in some buckets of its keys, others with every snapshot. Commits "
    "from outside the protocol, edited seals and tables that were rolled back alone are named as well."
)


def fold_result(proof: FoldProof, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell what a fold check found."""
    counts = proof.difference.counts
    metadata: dict[str, Any] = {
        "snapshot id": str(proof.snapshot_id or "none"),
        "changelog snapshot": str(proof.end or "none"),
        "looked at": proof.looked_at or "nothing",
        "folded from": proof.began or "nothing",
        "changes read": proof.changes,
        "changes in quarantine": proof.refused,
        "rows expected": proof.expected,
        "rows compared": proof.difference.compared,
        "rows only in the fold": counts["only_left"],
        "rows only in the mirror": counts["only_right"],
        "rows that differ": counts["different"],
        "keys more than once": counts["duplicated"],
        "seconds": proof.seconds,
    }
    if proof.examples:
        metadata["examples"] = _examples(proof.examples)
    if proof.findings:
        metadata["findings"] = findings_shown(proof.findings)
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=NAME,
        passed=proof.holds,
        severity=dg.AssetCheckSeverity.ERROR,
        description=_describe(proof),
        metadata=metadata,
    )


def findings_shown(findings: Sequence[Finding]) -> dg.TableMetadataValue:
    """Findings as a small table."""
    columns = {"kind": "string", "table": "string", "what is wrong": "string"}
    return rows_shown(columns, [(finding.kind, finding.table, finding.message) for finding in findings])


def first_of(findings: Sequence[Finding]) -> str:
    """The first finding, and how many more there are."""
    more = f" And {len(findings) - 1} more, see the findings." if len(findings) > 1 else ""
    return f"{findings[0].message}{more}"


def _describe(proof: FoldProof) -> str:
    if proof.findings:
        return f"A promise is broken in snapshot {proof.snapshot_id}. {first_of(proof.findings)}"
    if proof.end is None:
        return "Nothing was mirrored yet, so there is nothing to prove."
    return (
        f"{proof.difference.compared:,} rows of snapshot {proof.snapshot_id} ({proof.looked_at}) are what "
        f"{proof.changes:,} changes make."
    )


def _examples(examples: Sequence[Example]) -> dg.TableMetadataValue:
    columns = {"kind": "string", "row": "string"}
    return rows_shown(columns, [(example.kind, str(example)) for example in examples])
