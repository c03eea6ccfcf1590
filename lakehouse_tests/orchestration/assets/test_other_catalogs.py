"""The page other-catalogs.md as Dagster and the command run it: two catalogs are read, the third is written."""

import re
import shutil
import textwrap
import zlib
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml
from pyspark.sql import SparkSession

from lakehouse.orchestration.assets.other_catalogs import specs_elsewhere
from lakehouse.orchestration.automation.journal_sensor import tell_dagster
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.history import last_seal
from lakehouse.settings import CatalogSettings, KafkaSettings
from lakehouse_tests.fixtures.lakes import Lake, sql_settings
from lakehouse_tests.fixtures.rest_catalog import RestCatalog
from lakehouse_tests.guides import ROOT
from lakehouse_tests.orchestration.assets.house import House, checks, materializations, write_conf
from lakehouse_tests.steps.derived.workshop import Workshop, make_workshop, no_spark

pytestmark = [pytest.mark.spark, pytest.mark.rest, pytest.mark.slow]
PAGE = ROOT / "docs" / "how-to" / "other-catalogs.md"
LOGIN = "planted-secret-of-azure"
TABLE = "mart.city_sales"


def blocks(language: str) -> list[str]:
    """What the page shows in one language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def aws(tmp_path: Path) -> Workshop:
    """A lakehouse of others, whose table `raw.sales` is read."""
    (tmp_path / "aws").mkdir()
    return workshop(sql_settings(tmp_path / "aws"), "raw")


@pytest.fixture
def azure(request: pytest.FixtureRequest, rest_catalog: RestCatalog) -> Workshop:
    """Another one, with a login."""
    settings = CatalogSettings(type="rest", uri=rest_catalog.uri, warehouse=rest_catalog.warehouse)
    built = workshop(settings, f"t{zlib.crc32(request.node.nodeid.encode())}")
    built.write("shops", [{"shop": "Kiel", "city": "K"}, {"shop": "Bonn", "city": "B"}])
    return built


def workshop(settings: CatalogSettings, namespace: str) -> Workshop:
    catalog = open_catalog(settings)
    catalog.create_namespace_if_not_exists(namespace)
    return make_workshop(Lake(settings, catalog, namespace, None), no_spark)


@pytest.fixture
def house(
    tmp_path: Path, jars: Path, spark: SparkSession, aws: Workshop, azure: Workshop, monkeypatch: pytest.MonkeyPatch
) -> Iterator[House]:
    """The own lakehouse, with the settings and the declaration of the page."""
    del spark
    nowhere = KafkaSettings(bootstrap_servers="127.0.0.1:1")
    conf = write_conf(tmp_path, nowhere, jars)
    (conf / "catalogs").unlink()
    shutil.copytree(ROOT / "conf" / "catalogs", conf / "catalogs")
    monkeypatch.setenv("AZURE_LOGIN", f"client:{LOGIN}")
    there = {
        "aws": {"type": "sql", "uri": str(aws.settings.uri), "warehouse": aws.settings.warehouse},
        "azure": {
            "type": "rest",
            "uri": str(azure.settings.uri),
            "warehouse": azure.settings.warehouse,
            "oauth2_server_uri": f"{azure.settings.uri}/v1/oauth/tokens",
            "properties": {"credential": "${env:AZURE_LOGIN}"},
        },
    }
    for name, document in there.items():
        (conf / "catalogs" / f"{name}.yaml").write_text(yaml.safe_dump(document))
    shown = yaml.safe_load(blocks("yaml")[0])
    chosen = yaml.safe_load((conf / "lakehouse.yaml").read_text()) | {"other_catalogs": shown["other_catalogs"]}
    (conf / "lakehouse.yaml").write_text(yaml.safe_dump(chosen))
    with dg.DagsterInstance.ephemeral() as instance:
        house = House(tmp_path, "", nowhere, instance)
        declaration = blocks("python")[0].replace("azure:raw.shops", f"azure:{azure.name('shops')}")
        house.declare("city_sales", declaration)
        yield house


def test_the_page_does_what_it_says(house: House, aws: Workshop, azure: Workshop) -> None:
    before = [aws.load("sales").metadata_location, azure.load("shops").metadata_location]
    result = house.run(TABLE)
    assert result.success
    rows = house.lake().arrow(TABLE).to_pylist()
    assert sorted((row["city"], row["total"]) for row in rows) == [("B", 4), ("K", 3)]
    read = {"aws:raw.sales": aws.head("sales"), f"azure:{azure.name('shops')}": azure.head("shops")}
    sealed = last_seal(house.lake().catalog.load_table(tuple(TABLE.split("."))))
    assert sealed is not None
    assert sealed.seal.inputs == read
    shown = materializations(result)[TABLE].metadata["inputs"].value
    assert {record.data["input"]: record.data["snapshot"] for record in shown.records} == {
        name: str(snapshot) for name, snapshot in read.items()
    }
    results = checks(result)
    assert all(check.passed for check in results.values()), results
    assert {f"{TABLE} {name}" for name in ("lineage", "vintage", "runtime_date")} <= set(results)
    audit = house.command("audit", "--json", AZURE_LOGIN=f"client:{LOGIN}")
    assert '"aws:raw.sales"' in audit.output
    assert [aws.load("sales").metadata_location, azure.load("shops").metadata_location] == before
    printed = "".join(str(entry.to_json() if hasattr(entry, "to_json") else entry) for entry in _events(house))
    printed += audit.output + "".join(
        path.read_text(errors="replace") for path in house.settings.state.root.rglob("*") if _is_text(path)
    )
    assert "aws:raw.sales" in printed
    assert LOGIN not in printed


def test_the_graph_shows_from_where_and_news_there_are_told(house: House, aws: Workshop, azure: Workshop) -> None:
    settings, lake = house.settings, house.lake()
    specs = specs_elsewhere(lake.declarations, settings.other_catalogs)
    shops = ["azure", azure.namespace, "shops"]
    assert [spec.key.path for spec in specs] == [["aws", "raw", "sales"], shops]
    assert [spec.group_name for spec in specs] == ["aws", "azure"]
    graph = house.defs().resolve_asset_graph()
    parents = {key.to_user_string() for key in graph.get(dg.AssetKey(["mart", "city_sales"])).parent_keys}
    assert parents == {"aws/raw/sales", "/".join(shops)}
    assert tell_dagster(lake, house.instance, graph.materializable_asset_keys) == 2
    assert tell_dagster(lake, house.instance, graph.materializable_asset_keys) == 0
    aws.sell(("Kiel", 5))
    assert tell_dagster(lake, house.instance, graph.materializable_asset_keys) == 1
    latest = house.instance.get_latest_materialization_event(dg.AssetKey(["aws", "raw", "sales"]))
    assert latest is not None
    assert latest.asset_materialization is not None
    assert latest.asset_materialization.metadata["snapshot id"].value == str(aws.head("sales"))


def test_a_catalog_that_is_misspelt_stops_that_table_and_says_so(house: House) -> None:
    house.declare("city_sales", blocks("python")[0].replace("azure:raw", "azur:raw"))
    printed = house.command("plan", exit_code=2, AZURE_LOGIN="").output
    assert "is computed from azur:raw.shops, and there is no other catalog 'azur'" in re.sub(r"\s+", " ", printed)
    assert "use one of aws, azure" in re.sub(r"\s+", " ", printed)


def test_an_asset_of_ones_own_reads_there_and_its_seal_says_so(house: House, aws: Workshop) -> None:
    house.declare(
        "counted",
        textwrap.dedent(
            '''
            """Counts sales of another catalog."""

            import dagster as dg
            import pandera.pyspark as pap
            import pyarrow as pa

            from lakehouse import Lake, Table


            class Counted(pap.DataFrameModel):
                """How many."""

                n: int = pap.Field(description="Number")


            counted = Table(
                name="mart.counted", schema=Counted, description="C.", owner="tests", write_mode="overwrite"
            )


            @dg.asset(key=["mart", "counted"])
            def count(context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake]) -> dg.MaterializeResult:
                rows = lake.arrow("aws:raw.sales")
                return lake.write(context, "mart.counted", pa.table({"n": [rows.num_rows]}), mode="overwrite")
            '''
        ),
    )
    assert house.run("mart.counted").success
    assert house.lake().arrow("mart.counted")["n"].to_pylist() == [3]
    sealed = last_seal(house.lake().catalog.load_table(("mart", "counted")))
    assert sealed is not None
    assert sealed.seal.inputs == {"aws:raw.sales": aws.head("sales")}


def _events(house: House) -> list[dg.EventLogEntry]:
    return [entry for run in house.instance.get_runs() for entry in house.instance.all_logs(run.run_id)]


def _is_text(path: Path) -> bool:
    return path.is_file() and "jars" not in path.parts and path.suffix in (".json", ".log", ".avro", ".yaml", "")
