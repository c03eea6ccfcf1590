"""The checks of maintenance answer for the asset that Dagster knows, whatever stands before its key."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import dagster as dg
import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import Declarations
from lakehouse.orchestration.checks.maintenance.definition import LEASES, MaintenanceCheck, maintenance_checks
from lakehouse.orchestration.dagster_names import DagsterNames
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake

TABLE = declare({"id": T.LongType()})


def test_an_answer_has_the_key_that_the_check_was_declared_with(sql_lake: Lake) -> None:
    """Guarded mechanism: Dagster refuses a result for another asset, and so the whole step."""
    names = DagsterNames(prefix=("corp", "lake"))
    declared = maintenance_checks(TABLE, Declarations({TABLE.name: TABLE}, {}, {}), names)
    lake = cast("Any", SimpleNamespace(names=names, catalog=sql_lake.catalog))
    result = MaintenanceCheck(lake, TABLE, datetime.now(UTC)).answer(LEASES, (), otherwise="No lease is overdue.")
    assert result.asset_key is not None
    assert result.asset_key.path[:2] == ["corp", "lake"]
    assert dg.AssetCheckKey(result.asset_key, LEASES) in declared.check_keys
