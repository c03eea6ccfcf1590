from pathlib import Path

import pytest

from lakehouse.doctor.catalog.other_catalogs import other_catalogs
from lakehouse.settings import CatalogSettings, Settings, load_settings
from lakehouse.settings.secret import LateSecret
from lakehouse_tests.fixtures.fake_catalog import FakeCatalog
from lakehouse_tests.fixtures.lakes import Lake, sql_settings
from lakehouse_tests.fixtures.spark import REPOSITORY


def settings_with(home: Path, **others: CatalogSettings) -> Settings:
    own = load_settings(REPOSITORY / "conf", {"LAKEHOUSE_HOME": str(home)})
    return own.model_copy(update={"other_catalogs": others})


def test_a_table_of_another_catalog_is_read(sql_lake: Lake, tmp_path: Path) -> None:
    sql_lake.create("empty")
    settings = settings_with(tmp_path / "home", aws=sql_lake.settings)
    (finding,) = other_catalogs(settings)
    assert (finding.check, finding.state) == ("aws: readable", "not asked")
    name = sql_lake.create("full")
    sql_lake.write("first", full=[1])
    (finding,) = other_catalogs(settings)
    assert (finding.state, name in finding.message) == ("well", True)


def test_files_that_cannot_be_read_are_named(sql_lake: Lake, tmp_path: Path) -> None:
    name = sql_lake.create("full")
    sql_lake.write("first", full=[1])
    snapshot = sql_lake.load(name).current_snapshot()
    assert snapshot is not None
    Path(snapshot.manifest_list.removeprefix("file://")).unlink()
    (finding,) = other_catalogs(settings_with(tmp_path / "home", aws=sql_lake.settings))
    assert (finding.state, bool(finding.remedy)) == ("wrong", True)


def test_a_catalog_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (finding,) = other_catalogs(settings_with(tmp_path / "home", other=sql_settings(there)))
    assert (finding.check, finding.state) == ("other: readable", "wrong")
    assert list(there.iterdir()) == []


def test_a_database_of_another_catalog_that_is_down_is_named(tmp_path: Path) -> None:
    down = CatalogSettings(type="sql", uri="postgresql+psycopg://me:hush@127.0.0.1:1/lake", warehouse="s3://lake/w")
    (finding,) = other_catalogs(settings_with(tmp_path / "home", other=down))
    assert (finding.check, finding.state, "does not answer" in finding.message) == ("other: reach", "wrong", True)


def test_a_wrong_realm_of_another_catalog_is_named(tmp_path: Path) -> None:
    with FakeCatalog() as fake:
        fake.realm = "known"
        settings = settings_with(tmp_path / "home", azure=fake.settings(realm="unknown"))
        findings = list(other_catalogs(settings))
    assert ("azure: realm", "wrong") in {(finding.check, finding.state) for finding in findings}


def test_a_secret_of_another_catalog_that_cannot_be_read_is_its_finding_and_the_others_go_on(
    sql_lake: Lake, tmp_path: Path
) -> None:
    uri = LateSecret("${file:/nosuch}", where="first.yaml, key uri")
    first = CatalogSettings.model_validate({"type": "rest", "uri": uri, "warehouse": "lake"})
    findings = list(other_catalogs(settings_with(tmp_path / "home", first=first, second=sql_lake.settings)))
    assert [(finding.check, finding.state) for finding in findings] == [
        ("first: secrets", "wrong"),
        ("second: readable", "not asked"),
    ]
    assert "first.yaml, key uri" in findings[0].message


REST = {"type": "rest", "uri": "http://rest/api/catalog", "warehouse": "lake"}
SQL = {"type": "sql", "uri": "sqlite:////nosuch/catalog.db", "warehouse": "file:///nosuch/warehouse"}
GLUE = {"type": "glue", "warehouse": "s3://bucket/lake", "region": "eu-west-1"}


@pytest.mark.parametrize(
    ("given", "update"),
    [
        (REST, {"uri": "HTTP://REST/api/catalog/", "properties": {"credential": "another:secret"}}),
        (SQL, {"uri": "sqlite:////nosuch/x/../catalog.db?timeout=30"}),
        (GLUE, {"warehouse": "s3://bucket/elsewhere"}),
    ],
)
def test_the_own_catalog_under_another_name_is_not_another(
    given: dict[str, object], update: dict[str, object], tmp_path: Path
) -> None:
    own, again = (CatalogSettings.model_validate({**given, **more}) for more in ({}, update))
    settings = settings_with(tmp_path, again=again).model_copy(update={"catalog": own})
    (finding,) = other_catalogs(settings)
    assert (finding.check, finding.state) == ("again: other", "wrong")
    assert "the own catalog" in finding.message


@pytest.mark.parametrize("update", [{"realm": "POLARIS"}, {"warehouse": "another"}, {"uri": "http://127.0.0.1:9"}])
def test_a_catalog_beside_the_own_one_on_a_server_is_another(update: dict[str, object], tmp_path: Path) -> None:
    with FakeCatalog() as fake:
        own = fake.settings(realm=None)
        other = fake.settings(**{"realm": None, **update})
        settings = settings_with(tmp_path, beside=other).model_copy(update={"catalog": own})
        assert "beside: other" not in {finding.check for finding in other_catalogs(settings)}
