"""Tables that a mistake in a declaration stops, as assets that nobody can make, with a check that says why.

Of a file whose tables nobody knows there is one asset, by the file's name. They go when the mistake is corrected.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping

import dagster as dg

from lakehouse.declarations import BrokenDeclaration, Declarations
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames

LOADS = "loads"
_DESCRIPTION = "Whether the declaration loads that this table needs. While it does not, the table stands still."


def stopped_tables(
    declarations: Declarations, taken: Collection[dg.AssetKey], names: DagsterNames = DEFAULT_NAMES
) -> dict[dg.AssetKey, str]:
    """Asset → why it is stopped.

    Args:
        declarations: what is left out of them.
        taken: assets that are defined all the same, by users.
        names: how Dagster knows tables.
    """
    reasons = {names.key(name): reason for name, reason in declarations.stopped.items()}
    reasons |= {_file_key(broken, names): str(broken) for broken in declarations.broken if not broken.tables}
    return {key: reason for key, reason in reasons.items() if key not in taken}


def stopped_assets(stopped: Mapping[dg.AssetKey, str]) -> list[dg.AssetSpec]:
    """The assets that stand for them."""
    return [
        dg.AssetSpec(key, group_name="stopped", description=f"Stopped: {reason}") for key, reason in stopped.items()
    ]


def stopped_checks(stopped: Mapping[dg.AssetKey, str]) -> list[dg.AssetChecksDefinition]:
    """Their checks, in one definition; none where nothing is stopped."""
    if not stopped:
        return []

    @dg.multi_asset_check(
        name="declarations_load",
        description="Says which declarations do not load, and what they stop.",
        specs=[dg.AssetCheckSpec(LOADS, asset=key, description=_DESCRIPTION) for key in stopped],
        can_subset=True,
    )
    def declarations_load(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        for check in sorted(context.selected_asset_check_keys):
            yield dg.AssetCheckResult(
                asset_key=check.asset_key, check_name=LOADS, passed=False, description=stopped[check.asset_key]
            )

    return [declarations_load]


def _file_key(broken: BrokenDeclaration, names: DagsterNames) -> dg.AssetKey:
    digest = hashlib.sha256(str(broken.file).encode()).hexdigest()[:6]
    return dg.AssetKey([*names.prefix, "declarations", f"{broken.file.stem}_{digest}"])
