"""A run in a process of its own: `python -m lakehouse_tests.orchestration.assets.elsewhere CONF [RUN_ID [GROUP]]`.

A process has one Spark driver, and that of the tests is local.
"""

import json
import sys
from pathlib import Path

import dagster as dg

from lakehouse.build import build_defs
from lakehouse.settings import load_settings
from lakehouse_tests.orchestration.assets.house import checks, materializations


def main(conf: str, run_id: str | None = None, group: str = "") -> None:
    """Materialize tables in the order of what is computed from what, with their checks, and print what was done."""
    defs = build_defs(load_settings(Path(conf)))
    tables = dg.AssetSelection.all() - dg.AssetSelection.groups("maintenance")
    chosen = dg.AssetSelection.groups(group) if group else tables
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=instance,
            raise_on_error=False,
            run_id=run_id,
            asset_selection=sorted(chosen.resolve(defs.resolve_asset_graph())),
        )
    report = {
        "success": result.success,
        "materialized": sorted(materializations(result)),
        "failed checks": sorted(name for name, check in checks(result).items() if not check.passed),
        "checks": len(checks(result)),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
