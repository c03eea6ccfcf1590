"""References to secrets within addresses: looked up when they are used, and quoted for where they stand."""

from pathlib import Path

import pytest
from sqlalchemy import make_url

from lakehouse.settings import SettingsError, load_settings
from lakehouse.settings.secret import LateSecret, variables_in
from lakehouse_tests.settings.test_loading import conf

__all__ = ["conf"]
PASSWORD = "p@ss/w:rd %25"


def test_a_part_of_an_address_is_quoted_and_a_whole_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_PW", PASSWORD)
    part = LateSecret("postgresql://me:${env:LAKE_PW}@host/lake", where="x", in_address=True)
    assert make_url(part.get_secret_value()).password == PASSWORD
    monkeypatch.setenv("LAKE_URI", "postgresql://me:a@host/lake")
    whole = LateSecret("${env:LAKE_URI}", where="x", in_address=True)
    assert whole.get_secret_value() == "postgresql://me:a@host/lake"
    assert LateSecret("${env:LAKE_PW}", where="x").get_secret_value() == PASSWORD


def test_catalog_and_spark_connect_take_references_in_their_address(
    conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (conf / "catalogs" / "local.yaml").write_text(
        "type: sql\nuri: 'postgresql+psycopg://me:${env:LAKE_PW}@host/lake'\nwarehouse: s3://b\n"
    )
    (conf / "platforms" / "local.yaml").write_text("mode: connect\nremote: 'sc://spark:443/;token=${env:LAKE_PW}'\n")
    settings = load_settings(conf, {})
    with pytest.raises(SettingsError, match=r"catalogs/local\.yaml, key uri: the environment variable LAKE_PW is not"):
        _ = settings.catalog.address
    monkeypatch.setenv("LAKE_PW", PASSWORD)
    assert make_url(settings.catalog.address).password == PASSWORD
    assert settings.platform.remote_address == "sc://spark:443/;token=p%40ss%2Fw%3Ard%20%2525"
    assert "p@ss" not in repr(settings)
    assert "p%40ss" not in repr(settings)


def test_a_path_that_is_none_is_named_as_one_that_cannot_be_read() -> None:
    with pytest.raises(SettingsError, match=r"key uri: cannot read the file '/a\\x00b'"):
        LateSecret("${file:/a\0b}", where="x.yaml, key uri").get_secret_value()


def test_names_of_variables() -> None:
    assert variables_in("${env:A}-${file:/b}-${env:C}") == {"A", "C"}
