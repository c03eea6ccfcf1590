"""Balance and keys: do the seals of a mirror add up, and is each key there once?"""

import dagster as dg

from lakehouse.orchestration.checks.mirror.fold import findings_shown, first_of
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.steps.cdc.verify.counters import BalanceProof
from lakehouse.steps.cdc.verify.unique import KeyProof

BALANCE = "balance"
BALANCE_DESCRIPTION = (
    "From metadata alone: the mirror's seals follow one another without gap, their totals add up, the changelog's "
    "seals say the same of each range, operation by operation, and Iceberg counted as many rows inserted, updated and "
    "deleted as were sealed. Older commits are no longer listed; the metadata says from which run on each was asked."
)
KEYS = "unique_key"
KEYS_DESCRIPTION = "No key is twice in the mirror. Reads the key's columns of every row; null counts as a value."


def balance_result(proof: BalanceProof, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell what seals and counters add up to."""
    sentence = f"{proof.seals} seals add up: {proof.changes:,} changes made {proof.rows:,} rows."
    since = proof.proven_from or {}
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=BALANCE,
        passed=proof.holds,
        severity=dg.AssetCheckSeverity.ERROR,
        description=sentence if proof.holds else f"The mirror's books do not balance. {first_of(proof.findings)}",
        metadata={
            "seals": proof.seals,
            "changes applied": proof.changes,
            "rows": proof.rows,
            "proven": rows_shown({"what": "string", "from": "string"}, sorted(since.items())),
            **({"findings": findings_shown(proof.findings)} if proof.findings else {}),
        },
    )


def keys_result(proof: KeyProof, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell whether a key is there twice."""
    broken = f"{proof.repeated:,} keys are there more than once: {'; '.join(proof.examples)}."
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=KEYS,
        passed=proof.holds,
        severity=dg.AssetCheckSeverity.ERROR,
        description=f"Each of {proof.rows:,} rows has a key of its own." if proof.holds else broken,
        metadata={
            "snapshot id": str(proof.snapshot_id or "none"),
            "rows": proof.rows,
            "keys more than once": proof.repeated,
            "rows too many": proof.surplus,
            "seconds": proof.seconds,
        },
    )
