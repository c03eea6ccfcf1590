from pathlib import Path

import pytest
from pydantic import SecretStr
from pyspark.sql import SparkSession

from lakehouse.engines.spark import catalog_conf, spark_session
from lakehouse.engines.spark.catalog import show_table
from lakehouse.engines.spark.naming import rows_at
from lakehouse.protocol.seals.history import head_of
from lakehouse.settings import CatalogSettings, Settings, SettingsError
from lakehouse_tests.fixtures.lakes import Lake, sql_settings

LAKE = "spark.sql.catalog.lake"


def test_sqlite_becomes_a_jdbc_address_that_waits_for_locks(tmp_path: Path) -> None:
    settings = CatalogSettings(type="sql", uri=f"sqlite:///{tmp_path}/catalog.db?timeout=30", warehouse="file:///w")
    conf = catalog_conf(settings)
    assert conf[f"{LAKE}.uri"] == f"jdbc:sqlite:{tmp_path}/catalog.db?busy_timeout=30000&synchronous=NORMAL"
    assert conf[f"{LAKE}.catalog-impl"] == "org.apache.iceberg.jdbc.JdbcCatalog"
    assert conf[f"{LAKE}.cache-enabled"] == "false"


def test_postgres_keeps_its_login_out_of_the_address() -> None:
    uri = "postgresql+psycopg2://user:p%40ss@db:5433/lake?sslmode=require"
    conf = catalog_conf(CatalogSettings(type="sql", uri=uri, warehouse="s3://w"))
    assert conf[f"{LAKE}.uri"] == "jdbc:postgresql://db:5433/lake?sslmode=require"
    assert (conf[f"{LAKE}.jdbc.user"], conf[f"{LAKE}.jdbc.password"]) == ("user", "p@ss")


def test_a_password_may_come_from_a_secret() -> None:
    settings = CatalogSettings(
        type="sql", uri="postgresql://user@db/lake", warehouse="s3://w", properties={"password": SecretStr("hush")}
    )
    assert catalog_conf(settings)[f"{LAKE}.jdbc.password"] == "hush"


def test_rest_properties_are_told_in_javas_names() -> None:
    properties = {"credential": SecretStr("id:secret"), "s3.region": "eu-central-1", "py-io-impl": "x.Y"}
    conf = catalog_conf(CatalogSettings(type="rest", uri="http://rest", warehouse="lake", properties=properties))
    assert conf == {
        LAKE: "org.apache.iceberg.spark.SparkCatalog",
        f"{LAKE}.cache-enabled": "false",
        f"{LAKE}.type": "rest",
        f"{LAKE}.uri": "http://rest",
        f"{LAKE}.warehouse": "lake",
        f"{LAKE}.credential": "id:secret",
        f"{LAKE}.oauth2-server-uri": "http://rest/v1/oauth/tokens",
        f"{LAKE}.token-refresh-enabled": "true",
        f"{LAKE}.client.region": "eu-central-1",
    }


def test_glue_is_told_in_javas_names() -> None:
    glue = {"type": "glue", "warehouse": "s3://lake/w", "region": "eu-west-1"}
    conf = catalog_conf(CatalogSettings.model_validate(glue | {"uri": "http://glue"}))
    assert conf == {
        LAKE: "org.apache.iceberg.spark.SparkCatalog",
        f"{LAKE}.cache-enabled": "false",
        f"{LAKE}.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
        f"{LAKE}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        f"{LAKE}.glue.endpoint": "http://glue",
        f"{LAKE}.client.region": "eu-west-1",
        f"{LAKE}.warehouse": "s3://lake/w",
    }
    assert f"{LAKE}.glue.endpoint" not in catalog_conf(CatalogSettings.model_validate(glue))


@pytest.mark.parametrize(
    "settings",
    [
        CatalogSettings(type="sql", name="other", uri="sqlite:////c.db", warehouse="file:///w"),
        CatalogSettings(type="sql", uri="mysql://db/lake", warehouse="file:///w"),
    ],
)
def test_what_spark_cannot_share_with_pyiceberg_is_refused(settings: CatalogSettings) -> None:
    with pytest.raises(SettingsError):
        catalog_conf(settings)


def test_another_catalog_stands_under_its_own_name_with_its_own_login() -> None:
    rest = CatalogSettings(
        type="rest", uri="http://rest", warehouse="lake", properties={"credential": SecretStr("id:secret")}
    )
    conf = catalog_conf(rest, other="aws")
    assert conf["spark.sql.catalog.aws"] == "org.apache.iceberg.spark.SparkCatalog"
    assert conf["spark.sql.catalog.aws.credential"] == "id:secret"
    assert all(key.startswith("spark.sql.catalog.aws") for key in conf)
    assert catalog_conf(rest, other="aws", reveal=lambda key, _: f"<{key}>")["spark.sql.catalog.aws.credential"] == (
        "<spark.sql.catalog.aws.credential>"
    )


def test_of_another_sql_catalog_spark_gets_the_keys_of_its_storage_and_no_login() -> None:
    settings = CatalogSettings(
        type="sql",
        uri="postgresql+psycopg://user:hush@db/lake",
        warehouse="s3://w",
        properties={"s3.secret-access-key": SecretStr("key"), "password": SecretStr("hush")},
    )
    conf = catalog_conf(settings, other="azure")
    place = "spark.sql.catalog.azure"
    assert (conf[f"{place}.uri"], conf[f"{place}.clients"]) == ("jdbc:sqlite::memory:", "1")
    assert conf[f"{place}.io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    assert conf[f"{place}.s3.secret-access-key"] == "key"
    assert "hush" not in str(conf)


@pytest.mark.spark
def test_a_table_of_another_catalog_is_read_as_it_was_shown(
    sql_lake: Lake, spark: SparkSession, spark_settings: Settings, tmp_path: Path
) -> None:
    del spark
    (tmp_path / "own").mkdir()
    chosen = {"catalog": sql_settings(tmp_path / "own"), "other_catalogs": {"the-other": sql_lake.settings}}
    name = sql_lake.create("sales")
    elsewhere = f"the-other:{name}"
    with spark_session(spark_settings.model_copy(update=chosen), app_name="test") as session:
        for numbers in ([1], [2]):
            sql_lake.write(f"step-{numbers[0]}", sales=numbers)
            table = sql_lake.load(name)
            show_table(session, elsewhere, table.metadata_location)
            rows = rows_at(session, elsewhere, head_of(table) or 0).collect()
            assert sorted(row["n"] for row in rows) == list(range(1, numbers[0] + 1))
        show_table(session, name, "")  # one of the own catalog is found as ever
    assert sql_lake.load(name).metadata_location == table.metadata_location
