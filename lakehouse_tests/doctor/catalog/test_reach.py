"""A catalog that only its own client can ask is asked, and is as it was."""

import sys
from contextlib import closing
from pathlib import Path

import pytest
from moto import mock_aws
from sqlalchemy import NullPool, create_engine, inspect

from lakehouse.doctor.catalog.reach import reach
from lakehouse.doctor.finding import Diagnosis
from lakehouse.settings import CatalogSettings
from lakehouse_tests.fixtures.lakes import Lake, sql_settings
from lakehouse_tests.fixtures.postgres import Postgres

GLUE = CatalogSettings(type="glue", warehouse="s3://lake/w", region="eu-west-1")


def database(uri: str) -> CatalogSettings:
    return CatalogSettings(type="sql", uri=uri, warehouse="s3://lake/w")


def asked(settings: CatalogSettings) -> Diagnosis:
    (finding,) = reach(settings)
    assert (finding.remedy != "") == (finding.state == "wrong")
    return finding


def test_a_database_that_is_down_is_named_as_the_catalog_that_does_not_answer() -> None:
    finding = asked(database("postgresql+psycopg://lake:hush@127.0.0.1:1/lake"))
    assert (finding.check, finding.state) == ("reach", "wrong")
    assert "127.0.0.1:1/lake does not answer: connection refused" in finding.message
    assert "hush" not in str(finding)


def test_a_database_that_is_there_is_well_and_stays_empty(postgres: Postgres) -> None:
    with postgres.new_database("doctor") as uri:
        assert asked(database(uri)).state == "well"
        with closing(create_engine(uri, poolclass=NullPool).connect()) as connection:
            assert inspect(connection).get_table_names() == []
        stranger = asked(database(uri.replace(postgres.password, "hush")))
    assert (stranger.check, stranger.state, "hush" in str(stranger)) == ("login", "wrong", False)


def test_an_embedded_catalog_is_looked_at_and_not_made(sql_lake: Lake, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    assert asked(sql_settings(there)).state == "not asked"
    assert list(there.iterdir()) == []
    assert asked(sql_lake.settings).state == "well"
    (there / "catalog.db").write_text("no database at all")
    damaged = asked(sql_settings(there))
    assert (damaged.check, damaged.state) == ("reach", "wrong")


@pytest.mark.usefixtures("nobody_to_aws")
def test_glue_is_not_asked_by_nobody() -> None:
    finding = asked(GLUE)
    assert (finding.check, finding.state, "no identity" in finding.message) == ("login", "wrong", True)


@pytest.mark.usefixtures("nobody_to_aws")
def test_glue_that_answers_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        finding = asked(GLUE)
    assert (finding.check, finding.state, "eu-west-1" in finding.message) == ("reach", "well", True)


@pytest.mark.parametrize(
    ("settings", "missing", "extra"),
    [
        (GLUE, "lakehouse.protocol.catalog.glue_catalog.glue", "[aws]"),
        (database("postgresql+psycopg://lake:hush@127.0.0.1:1/lake"), "psycopg", "[postgres]"),
    ],
)
def test_a_client_that_is_missing_is_named(
    settings: CatalogSettings, missing: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    finding = asked(settings)
    assert (finding.check, finding.state, extra in finding.remedy) == ("catalog client", "wrong", True)
