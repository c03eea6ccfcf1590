"""A publish of a run that Dagster has not heard of is reported once, and only when nobody else will."""

import pyspark.sql.types as T  # noqa: N812
import pytest
from dagster import AssetKey, DagsterInstance, DagsterRunStatus
from dagster._core.test_utils import create_run_for_test

from lakehouse.declarations import Declarations
from lakehouse.orchestration.automation.reconcile_materializations import unreported_materializations
from lakehouse.protocol.commit import publish
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake

RUN = "7a1c3e0e-0d4c-4e6f-9a43-0f6f3c1d2b10"


@pytest.fixture
def declarations(sql_lake: Lake) -> Declarations:
    """Of one table, which a run has published a row to."""
    name = sql_lake.create("nests")
    publish(sql_lake.catalog, [sql_lake.stage(sql_lake.bases(name)[name], Attempt(RUN, f"write:{name}"), [1])])
    return Declarations({name: declare({"n": T.LongType()}, name=name)}, {}, {})


def keys(declarations: Declarations) -> list[AssetKey]:
    return [AssetKey(name.split(".")) for name in declarations.tables]


def test_what_a_lost_run_published_is_reported_once(sql_lake: Lake, declarations: Declarations) -> None:
    with DagsterInstance.ephemeral() as instance:
        [report] = unreported_materializations(sql_lake.catalog, declarations, instance, keys(declarations))
        [key] = keys(declarations)
        assert report.asset_key == key
        assert report.metadata["snapshot id"].value == str(
            sql_lake.load(".".join(key.path)).metadata.current_snapshot_id
        )
        assert report.metadata["published by run"].value == RUN
        instance.report_runless_asset_event(report)
        assert not unreported_materializations(sql_lake.catalog, declarations, instance, keys(declarations))


def test_a_run_that_goes_on_reports_by_itself(sql_lake: Lake, declarations: Declarations) -> None:
    with DagsterInstance.ephemeral() as instance:
        create_run_for_test(instance, run_id=RUN, status=DagsterRunStatus.STARTED)
        assert not unreported_materializations(sql_lake.catalog, declarations, instance, keys(declarations))


def test_tables_that_are_no_assets_are_left_alone(sql_lake: Lake, declarations: Declarations) -> None:
    with DagsterInstance.ephemeral() as instance:
        assert not unreported_materializations(sql_lake.catalog, declarations, instance, [])
