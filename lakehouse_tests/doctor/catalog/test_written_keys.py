"""What is wrong with a file by itself."""

import json
from pathlib import Path

import pytest

from lakehouse.doctor.catalog.written_keys import credential_form, identity_file, storage_extra, written_keys
from lakehouse.settings import CatalogSettings, Settings, SettingsError, load_settings

CONF = Path(__file__).parents[3] / "conf"


def on_gcs(**keys: object) -> Settings:
    given = {
        "type": "rest",
        "uri": "http://rest",
        "warehouse": "lake",
        "storage": "gcs",
        "project": "lake-prod",
        **keys,
    }
    return load_settings(CONF, {}).model_copy(update={"catalog": CatalogSettings.model_validate(given)})


@pytest.mark.parametrize("credential", ["hush", ":hush", "hush:", ""])
def test_a_credential_that_is_not_id_and_secret_is_named(credential: str) -> None:
    finding = credential_form(credential)
    assert (finding.state, "id:secret" in finding.message, "hush" in str(finding)) == ("wrong", True, False)
    assert credential_form("id:hush").state == "well"


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAKE_CREDENTIAL", raising=False)
    (finding,) = written_keys(load_settings(CONF, {"LAKEHOUSE_CATALOG": "polaris-aws"}).catalog)
    assert (finding.state, "LAKE_CREDENTIAL" in finding.message) == ("wrong", True)


def test_an_identity_file_of_another_project_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key.json"
    key = {"project_id": "lake-test", "client_email": "me@lake-test.iam", "private_key": "hush"}
    path.write_text(json.dumps(key))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    (mismatch,) = identity_file(on_gcs())
    assert (mismatch.state, "lake-test; the catalog's file says lake-prod" in mismatch.message) == ("wrong", True)
    assert "hush" not in str(mismatch)
    assert [finding.state for finding in identity_file(on_gcs(project="lake-test"))] == ["well"]
    assert list(identity_file(on_gcs(access="vended"))) == [], "then clients do not use it"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    assert [finding.state for finding in identity_file(on_gcs())] == ["wrong"]


def test_a_control_character_in_an_arn_is_refused_by_the_settings(tmp_path: Path) -> None:
    for conf in ("lakehouse.yaml", "platforms", "kafka"):
        (tmp_path / conf).symlink_to(CONF / conf)
    (tmp_path / "catalogs").mkdir()
    arn = r"arn:aws:iam::123456789012:role/la\x07ke"
    (tmp_path / "catalogs" / "local.yaml").write_text(
        f'type: rest\nuri: http://rest\nwarehouse: lake\nproperties:\n  client.assume-role.arn: "{arn}"\n'
    )
    with pytest.raises(
        SettingsError, match=r"key properties.client.assume-role.arn: this value has U\+0007 .* at position 34"
    ):
        load_settings(tmp_path, {})


def test_azure_needs_its_client() -> None:
    (finding,) = storage_extra(on_gcs(storage="adls", project=None))
    assert "[azure]" in finding.remedy
