"""News of tables of other catalogs: told once, not for a rewrite, and a catalog that is away holds up nobody."""

from pathlib import Path

import dagster as dg
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Declarations, Derived
from lakehouse.orchestration.automation.reconcile_materializations import news_elsewhere
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse_tests.fixtures.lakes import Lake, sql_settings
from lakehouse_tests.steps.derived.workshop import table_of


@pytest.fixture
def own(sql_lake: Lake, tmp_path: Path) -> LakeCatalog:
    (tmp_path / "own").mkdir()
    others = {"azure": sql_lake.settings, "gone": sql_settings(tmp_path / "gone")}
    return open_catalog(sql_settings(tmp_path / "own"), others)


def test_what_is_new_is_told_once_whoever_else_is_away(own: LakeCatalog, sql_lake: Lake) -> None:
    name = f"azure:{sql_lake.create('sales')}"
    columns = {"n": T.LongType()}
    derived = Derived(
        table=table_of("mart.n", columns, derived=True),
        inputs={"gone": "gone:raw.sales", "sales": name},
        compute="SELECT n FROM sales",
    )
    declarations = Declarations({}, {}, {}, derived={"mart.n": derived})

    with dg.DagsterInstance.ephemeral() as instance:

        def news() -> list[str]:
            events = list(news_elsewhere(own, declarations, instance))
            for event in events:
                instance.report_runless_asset_event(event)
            return [event.asset_key.to_user_string() for event in events]

        assert news() == [], "it holds nothing yet"
        sql_lake.write("first", sales=[1])
        assert news() == [f"azure/{sql_lake.namespace}/sales"]
        assert news() == []
        sql_lake.write("nothing", sales=[])
        assert news() == [], "a commit without rows is no news"
        sql_lake.write("second", sales=[2])
        assert news() == [f"azure/{sql_lake.namespace}/sales"]
