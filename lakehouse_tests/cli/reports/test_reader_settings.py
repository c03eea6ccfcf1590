"""What other engines are told: each in its words, and no secret in any."""

import os
import subprocess
from pathlib import Path

import duckdb
import pytest
from pydantic import SecretStr
from pyiceberg.catalog import load_catalog

from lakehouse.cli.reports.reader_settings import GAP, READERS
from lakehouse.engines.spark.connect.client import token_file
from lakehouse.settings import CatalogSettings, Platform, Settings
from lakehouse.settings.secret import LateSecret
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import settings_of

CONNECT = Platform(name="far", mode="connect", remote="sc://spark.example:443/;use_ssl=true;token=hush")
PROPERTIES = {
    "credential": LateSecret("${env:CLIENT}", where="t"),
    "s3.secret-access-key": LateSecret("${file:/run/key}", where="t"),
    "token": SecretStr("hush"),
    "s3.region": "eu-central-1",
    "pool_pre_ping": "true",
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    rest = CatalogSettings(type="rest", uri="https://catalog.example", warehouse="it's", properties=PROPERTIES)
    return settings_of(tmp_path / "state", tmp_path, CONNECT, rest)


def test_glue_is_named_without_an_address(tmp_path: Path) -> None:
    glue = CatalogSettings(type="glue", warehouse="s3://lake/w", region="eu-west-1")
    settings = settings_of(tmp_path / "state", tmp_path, CONNECT, glue)
    assert "export PYICEBERG_CATALOG__LAKE__GLUE__REGION=eu-west-1" in lines_of(settings, "pyiceberg")
    assert not [line for line in lines_of(settings, "pyiceberg") if "URI" in line]
    assert "iceberg.catalog.type=glue" in lines_of(settings, "trino")
    assert "spark.sql.catalog.lake.catalog-impl org.apache.iceberg.aws.glue.GlueCatalog" in lines_of(settings, "spark")
    assert "Glue" in lines_of(settings, "duckdb")[-1]


def lines_of(settings: Settings, reader: str) -> list[str]:
    return list(READERS[reader](settings))


@pytest.mark.parametrize("reader", READERS)
def test_no_secret_is_told(settings: Settings, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENT", "hush")
    assert "hush" not in "".join(lines_of(settings, reader))


def test_each_names_secrets_as_it_looks_them_up(settings: Settings) -> None:
    shell = "export PYICEBERG_CATALOG__LAKE__"
    assert lines_of(settings, "pyiceberg")[:4] == [
        f"{shell}TYPE=rest",
        f"{shell}URI=https://catalog.example",
        f"{shell}WAREHOUSE='it'\"'\"'s'",
        f'{shell}CREDENTIAL="${{CLIENT}}"',
    ]
    assert f'{shell}S3__SECRET_ACCESS_KEY="$(cat /run/key)"' in lines_of(settings, "polars")
    assert any(line.startswith("# pool_pre_ping: no variable can name it") for line in lines_of(settings, "pyiceberg"))
    spark = lines_of(settings, "spark")
    assert "spark.sql.catalog.lake.credential env:CLIENT" in spark
    assert f"spark.sql.catalog.lake.s3.secret-access-key {GAP}" in spark
    assert any(line.endswith(": file /run/key") for line in spark)
    trino = lines_of(settings, "trino")
    assert "iceberg.rest-catalog.oauth2.credential=${ENV:CLIENT}" in trino
    assert f"s3.aws-secret-key={GAP}" in trino
    assert lines_of(settings, "notebook") == [f"export SPARK_REMOTE='sc://spark.example:443/;use_ssl=true;token={GAP}'"]


def test_duckdb_understands_what_it_is_told(settings: Settings) -> None:
    create, attach = lines_of(settings, "duckdb")[2:]
    assert "CLIENT_ID split_part(getenv('CLIENT'), ':', 1)" in create
    assert attach == "ATTACH 'it''s' AS lake (TYPE iceberg, ENDPOINT 'https://catalog.example', SECRET lake);"
    assert len(duckdb.extract_statements(create + attach)) == 2


def test_a_shell_that_was_told_opens_the_lake(sql_lake: Lake, tmp_path: Path) -> None:
    name = sql_lake.create("told")
    settings = settings_of(tmp_path / "state", tmp_path, CONNECT, sql_lake.settings)
    script = "\n".join([*lines_of(settings, "pyiceberg"), "env -0"])
    done = subprocess.run(
        ["bash", "-euc", script], env={"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, check=True
    )
    variables = dict(entry.split("=", 1) for entry in done.stdout.decode().split("\0") if entry)
    prefix = "PYICEBERG_CATALOG__LAKE__"
    given = {key.removeprefix(prefix).lower(): value for key, value in variables.items() if key.startswith(prefix)}
    assert given["uri"] == sql_lake.settings.uri
    catalog = load_catalog("lake", **given)
    assert catalog.table_exists(name)
    catalog.close()


def test_a_password_in_an_address_is_left_out(tmp_path: Path) -> None:
    catalog = CatalogSettings(type="sql", uri="postgresql+psycopg://ann:hush@db:5433/lake", warehouse="s3://lake")
    settings = settings_of(tmp_path / "state", tmp_path, CONNECT, catalog)
    for reader in READERS:
        assert "hush" not in "".join(lines_of(settings, reader))
    assert "spark.sql.catalog.lake.jdbc.user ann" in lines_of(settings, "spark")
    trino = lines_of(settings, "trino")
    assert "iceberg.jdbc-catalog.connection-url=jdbc:postgresql://db:5433/lake" in trino
    assert "iceberg.jdbc-catalog.connection-user=ann" in trino


def test_a_reference_within_an_address_is_named_and_not_looked_up(tmp_path: Path) -> None:
    uri = LateSecret("postgresql+psycopg://ann:${env:NOT_SET_HERE}@db:5433/lake", where="x", in_address=True)
    catalog = CatalogSettings(type="sql", uri=uri, warehouse="s3://lake")
    settings = settings_of(tmp_path / "state", tmp_path, CONNECT, catalog)
    export = lines_of(settings, "pyiceberg")[1]
    assert export == 'export PYICEBERG_CATALOG__LAKE__URI=postgresql+psycopg://ann:"${NOT_SET_HERE}"@db:5433/lake'
    assert "spark.sql.catalog.lake.jdbc.user ann" in lines_of(settings, "spark")
    assert "iceberg.jdbc-catalog.connection-url=jdbc:postgresql://db:5433/lake" in lines_of(settings, "trino")


def test_a_server_of_ours_wants_its_key(tmp_path: Path, sql_lake: Lake) -> None:
    here = Platform(name="connect", mode="connect", remote="sc://127.0.0.1:15002")
    settings = settings_of(tmp_path / "state", tmp_path, here, sql_lake.settings)
    assert lines_of(settings, "notebook")[1:] == ["export SPARK_REMOTE=sc://127.0.0.1:15002"]
    key = token_file(settings.state)
    key.parent.mkdir()
    key.write_text("hush")
    assert lines_of(settings, "notebook") == [f'export SPARK_REMOTE="sc://localhost:15002/;token=$(cat {key})"']


def test_a_classic_platform_has_no_server_for_notebooks(tmp_path: Path, sql_lake: Lake) -> None:
    classic = Platform(name="local", mode="classic", master="local[2]")
    (line,) = lines_of(settings_of(tmp_path / "state", tmp_path, classic, sql_lake.settings), "notebook")
    assert "lakehouse up --connect" in line
