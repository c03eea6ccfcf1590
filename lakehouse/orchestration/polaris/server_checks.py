"""A Polaris server as an asset that nobody makes, and two checks: is it as declared, is it well. They only look.

They run by a schedule, which is made where `conf/lakehouse.yaml` names a server; anybody may run them at any time.
"""

from collections.abc import Iterator

import dagster as dg

from lakehouse.errors import LakehouseError
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.polaris import PolarisApi, load_polaris, plan_polaris, survey, wanted
from lakehouse.polaris.server_check import check_server
from lakehouse.quantities import quantity

AS_DECLARED, WELL = "as_declared", "well"
_MOST = 50  # differences that are shown


def polaris_key(server: str, names: DagsterNames = DEFAULT_NAMES) -> dg.AssetKey:
    """The key of the asset that stands for a server."""
    return dg.AssetKey([*names.prefix, "servers", "polaris", server])


def polaris_asset(server: str, names: DagsterNames = DEFAULT_NAMES) -> dg.AssetSpec:
    """The asset that stands for a server."""
    return dg.AssetSpec(
        polaris_key(server, names),
        group_name="servers",
        kinds={"polaris"},
        description=f"The Polaris server of conf/polaris/{server}.yaml: who may do what in its catalogs.",
    )


def polaris_checks(server: str, names: DagsterNames = DEFAULT_NAMES) -> dg.AssetChecksDefinition:
    """Make both checks.

    Args:
        server: the file of `conf/polaris/`.
        names: how Dagster knows the server.
    """
    key = polaris_key(server, names)

    @dg.multi_asset_check(
        name=f"polaris_{key.to_python_identifier()}",
        specs=[
            dg.AssetCheckSpec(
                AS_DECLARED,
                asset=key,
                description="Whether catalogs, roles, grants and principals are as the file says; as "
                "`lakehouse polaris plan`. It needs the credential of the file.",
            ),
            dg.AssetCheckSpec(
                WELL, asset=key, description="Whether the server is well and new enough; as `lakehouse polaris check`."
            ),
        ],
        can_subset=False,
    )
    @names.resources
    def polaris_is_as_declared(lake: dg.ResourceParam[Lake]) -> Iterator[dg.AssetCheckResult]:
        for name, judge in ((AS_DECLARED, _as_declared), (WELL, _well)):
            try:
                passed, description, metadata = judge(lake, server)
            except LakehouseError as error:
                passed, description, metadata = False, str(error), {}
            yield dg.AssetCheckResult(
                asset_key=key, check_name=name, passed=passed, description=description, metadata=metadata
            )

    return polaris_is_as_declared


def _as_declared(lake: Lake, name: str) -> tuple[bool, str, dict[str, dg.MetadataValue]]:
    server = load_polaris(lake.settings.conf, name)
    plan = plan_polaris(wanted(server), survey(PolarisApi(server), server))
    lines = [*(refusal.problem for refusal in plan.refused), *map(str, plan.changes)]
    metadata: dict[str, dg.MetadataValue] = {
        "differences": dg.MetadataValue.int(len(lines)),
        "not_declared": dg.MetadataValue.text(", ".join(plan.others) or "nothing"),
    }
    if not lines:
        return True, "It is as declared.", metadata
    metadata["which"] = dg.MetadataValue.text("\n".join(lines[:_MOST]))
    count = quantity(len(lines), "difference")
    return False, f"{count}: {lines[0].splitlines()[0]} … Remedy: `lakehouse polaris apply {name}`.", metadata


def _well(lake: Lake, name: str) -> tuple[bool, str, dict[str, dg.MetadataValue]]:
    server = load_polaris(lake.settings.conf, name)
    findings = list(check_server(PolarisApi(server), server))
    wrong = [finding for finding in findings if finding.state == "wrong"]
    metadata: dict[str, dg.MetadataValue] = {
        finding.check: dg.MetadataValue.text(f"{finding.state}: {finding.message}") for finding in findings
    }
    lines = " ".join(f"{finding.message} Remedy: {finding.remedy}." for finding in wrong)
    return not wrong, lines or "Nothing is wrong.", metadata
