"""Doubt: of which keys did the stream refuse a change, so that their rows may be stale?"""

from typing import Any

import dagster as dg

from lakehouse.orchestration.resources.materialization import texts_shown
from lakehouse.steps.cdc.verify.doubt import Doubt

NAME = "doubtful_keys"
DESCRIPTION = (
    "A change that the stream put in its quarantine never reached the changelog, so the row of its key may be stale: "
    "the key is in doubt until a newer good change is applied. Refused changes of unknown key count as well. Warns "
    "at one, and fails above the mirror's `max_doubtful_keys`. `lakehouse reprocess` takes refused records up again, "
    "after the declaration was widened or corrected."
)


def doubt_result(doubt: Doubt, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell which keys are in doubt."""
    metadata: dict[str, Any] = {
        "keys in doubt": doubt.keys,
        "refused changes of unknown key": doubt.unknown,
        "allowed": doubt.allowed,
        "refused changes": doubt.refused,
        "healed by a later change": doubt.healed,
        "seconds": doubt.seconds,
    }
    if doubt.examples:
        metadata["oldest"] = texts_shown("refused change", doubt.examples)
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=NAME,
        passed=not doubt.count,
        severity=dg.AssetCheckSeverity.WARN if doubt.bearable else dg.AssetCheckSeverity.ERROR,
        description=_describe(doubt),
        metadata=metadata,
    )


def _describe(doubt: Doubt) -> str:
    if not doubt.refused:
        return "The stream has refused no change of this mirror."
    if not doubt.count:
        return f"Each of {doubt.refused:,} refused changes was followed by a good one of its key."
    return f"{doubt}, so their rows may be stale: {'; '.join(doubt.examples)}."
