"""Contract: do the mirror's rows keep what the source's row model declares?"""

import dagster as dg

from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.steps.cdc.verify.contract import ContractProof

NAME = "contract"
DESCRIPTION = (
    "The rules that the source's row model declares, counted in the mirror's present rows: required columns that are "
    "null, and values that break a rule. A mirror takes its source's rows as they are, so this says what the source "
    "broke. Fails for rules that block, warns for the others."
)


def contract_result(proof: ContractProof, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell how many rows break which rule."""
    broken = sorted(proof.broken, key=lambda verdict: -verdict.broken)
    columns = {"rule": "string", "severity": "string", "broken by": "int"}
    ordered = [*broken, *(verdict for verdict in proof.verdicts if not verdict.broken)]
    named = ", ".join(f"{verdict.rule} ({verdict.broken:,} rows)" for verdict in broken)
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=NAME,
        passed=not broken,
        severity=dg.AssetCheckSeverity.ERROR if proof.blocking else dg.AssetCheckSeverity.WARN,
        description=(
            f"{len(broken)} of {len(proof.verdicts)} rules are broken: {named}."
            if broken
            else f"{proof.rows:,} rows keep all {len(proof.verdicts)} rules."
        ),
        metadata={
            "snapshot id": str(proof.snapshot_id or "none"),
            "rows": proof.rows,
            "rules": rows_shown(columns, [(v.rule, v.severity, v.broken) for v in ordered]),
            "seconds": proof.seconds,
        },
    )
