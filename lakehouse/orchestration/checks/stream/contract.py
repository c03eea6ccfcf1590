"""Contract rules: what the newest run found when it judged its records by the table's declaration."""

from collections.abc import Mapping
from typing import Any

import dagster as dg
import msgspec

from lakehouse import seal_keys
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import table_name
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.protocol.seals.history import Sealed, seals
from lakehouse.protocol.seals.read_group import Pinned
from lakehouse.quantities import quantity

NAME = "contract_rules"
DESCRIPTION = (
    "The rules that the table's declaration states, as the newest run judged them before it published. Records that "
    "break a blocking rule are in the stream's quarantine and not in this table; rows that break a warning rule are in "
    "the table, and this check says how many."
)


class RuleCount(msgspec.Struct, frozen=True):
    """What became of one rule: `broken` records, which a blocking rule kept out and a warning let through."""

    severity: str
    broken: int


class VerdictsUnreadable(LakehouseError):
    """A seal's verdicts are not what this version writes."""


def contract_result(pinned: Pinned, quarantine: Pinned, table: str, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell what the newest seal of a table says about its rules.

    Args:
        pinned: the table.
        quarantine: its stream's quarantine, whose seal says how many records were kept out, by reason.
        table: the table's name.
        key: its asset.

    Raises:
        VerdictsUnreadable: a seal says it in words that this version does not know.
    """
    sealed = _judged(pinned)
    if sealed is None:
        return _result(key, passed=True, description="No records were judged yet.", metadata={})
    rules = _verdicts(sealed, table)
    warned = {
        rule: verdict.broken for rule, verdict in rules.items() if verdict.severity == "warning" and verdict.broken
    }
    kept_out = _kept_out(quarantine)
    metadata: dict[str, Any] = {
        "snapshot id": str(sealed.snapshot_id),
        "run": sealed.seal.run_id,
        "rules": _rules(rules),
        "rows that break a warning rule": sum(warned.values()),
        "records of the stream kept out": rows_shown({"reason": "string", "records": "int"}, sorted(kept_out.items())),
    }
    return _result(key, passed=not warned, description=_describe(rules, warned, kept_out), metadata=metadata)


def _rules(rules: Mapping[str, RuleCount]) -> dg.TableMetadataValue:
    """Most broken first."""
    columns = {"rule": "string", "severity": "string", "broken by": "int"}
    ordered = sorted(rules.items(), key=lambda item: (-item[1].broken, item[0]))
    return rows_shown(columns, [(rule, verdict.severity, verdict.broken) for rule, verdict in ordered])


def _kept_out(quarantine: Pinned) -> dict[str, int]:
    """Reason → records that the newest run put in quarantine."""
    sealed = _judged(quarantine)
    verdicts = _verdicts(sealed, table_name(quarantine.table)) if sealed else {}
    return {reason: verdict.broken for reason, verdict in verdicts.items() if verdict.broken}


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
    return next(
        (s for s in seals(pinned.table, pinned.snapshot_id) if seal_keys.QUALITY_RULES in s.seal.statement), None
    )


def _verdicts(sealed: Sealed, table: str) -> dict[str, RuleCount]:
    try:
        return msgspec.json.decode(sealed.seal.statement[seal_keys.QUALITY_RULES], type=dict[str, RuleCount])
    except msgspec.MsgspecError as error:
        raise VerdictsUnreadable(
            f"{table} snapshot {sealed.snapshot_id}: the verdicts on its rules cannot be read ({error}).",
            remedy="use the version that wrote them, or ingest again with this one",
        ) from error


def _describe(rules: dict[str, RuleCount], warned: dict[str, int], kept_out: dict[str, int]) -> str:
    refused = sum(kept_out.values())
    records = quantity(refused, "record")
    beside = f" Of the whole stream, whichever table they were for, {records} went to quarantine." if kept_out else ""
    if warned:
        named = ", ".join(f"{rule} ({quantity(broken, 'row')})" for rule, broken in sorted(warned.items()))
        return f"{len(warned)} of {len(rules)} rules warn: {named}.{beside}"
    return f"All rows that the newest run added keep all {len(rules)} rules.{beside}"
