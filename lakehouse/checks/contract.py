"""Contract rules: what the newest run found when it judged its records by the table's declaration."""

from typing import Any

import dagster as dg
import msgspec

from lakehouse.commit import Pinned, Sealed
from lakehouse.commit.history import seals
from lakehouse.errors import LakehouseError

NAME = "contract_rules"
DESCRIPTION = (
    "The rules that the table's declaration states, as the newest run judged them before it published. Records that "
    "break a blocking rule are in the stream's quarantine and not in this table; rows that break a warning rule are in "
    "the table, and this check says how many."
)
RULES_KEY = "quality.rules"


class RuleVerdict(msgspec.Struct, frozen=True):
    """What became of one rule: `broken` records, which a blocking rule kept out and a warning let through."""

    severity: str
    broken: int


class VerdictsUnreadable(LakehouseError):
    """A seal's verdicts are not what this version writes."""


def contract_result(pinned: Pinned, table: str, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell what the newest seal of a table says about its rules.

    Raises:
        VerdictsUnreadable: the seal says it in words that this version does not know.
    """
    sealed = _judged(pinned)
    if sealed is None:
        return _result(key, passed=True, description="No records were judged yet.", metadata={})
    rules = _verdicts(sealed, table)
    warned = {
        rule: verdict.broken for rule, verdict in rules.items() if verdict.severity == "warning" and verdict.broken
    }
    refused = {
        rule: verdict.broken for rule, verdict in rules.items() if verdict.severity != "warning" and verdict.broken
    }
    metadata: dict[str, Any] = {
        "snapshot id": str(sealed.snapshot_id),
        "run": sealed.seal.run_id,
        "rules": dg.MetadataValue.table(
            [
                dg.TableRecord({"rule": rule, "severity": verdict.severity, "broken by": verdict.broken})
                for rule, verdict in sorted(rules.items(), key=lambda item: (-item[1].broken, item[0]))
            ]
            or [dg.TableRecord({"rule": "(none declared)", "severity": "", "broken by": 0})]
        ),
        "rows that break a warning rule": sum(warned.values()),
        "records kept out by a blocking rule": sum(refused.values()),
    }
    return _result(key, passed=not warned, description=_told(rules, warned, refused), metadata=metadata)


def _result(key: dg.AssetKey, *, passed: bool, description: str, metadata: dict[str, Any]) -> dg.AssetCheckResult:
    # Only a warning can be broken in what readers see, so this check never fails harder than that.
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=NAME,
        passed=passed,
        severity=dg.AssetCheckSeverity.WARN,
        description=description,
        metadata=metadata,
    )


def _judged(pinned: Pinned) -> Sealed | None:
    """The newest seal that carries verdicts; maintenance seals carry none."""
    return next((s for s in seals(pinned.table, pinned.snapshot_id) if RULES_KEY in s.seal.statement), None)


def _verdicts(sealed: Sealed, table: str) -> dict[str, RuleVerdict]:
    try:
        return msgspec.json.decode(sealed.seal.statement[RULES_KEY], type=dict[str, RuleVerdict])
    except msgspec.MsgspecError as error:
        raise VerdictsUnreadable(
            f"{table} snapshot {sealed.snapshot_id}: the verdicts on its rules cannot be read ({error}).",
            remedy="use the version that wrote them, or ingest again with this one",
        ) from error


def _told(rules: dict[str, RuleVerdict], warned: dict[str, int], refused: dict[str, int]) -> str:
    kept_out = f" {sum(refused.values()):,} records were kept out." if refused else ""
    if warned:
        named = ", ".join(f"{rule} ({broken:,} rows)" for rule, broken in sorted(warned.items()))
        return f"{len(warned)} of {len(rules)} rules draw a warning: {named}.{kept_out}"
    return f"All rows that the newest run added keep all {len(rules)} rules.{kept_out}"
