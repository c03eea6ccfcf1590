"""One file, two clients: the same settings as PyIceberg's properties and as Iceberg's in Java."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from lakehouse.settings import CatalogSettings, LateSecret, SettingsError, load_settings
from lakehouse.settings.catalogs.properties import java_properties, python_properties, typed_properties

CONF = Path(__file__).parents[3] / "conf"
LOGIN = {"LAKE_CREDENTIAL": "id:hush", "LAKE_ACCESS_KEY_ID": "key", "LAKE_SECRET_ACCESS_KEY": "hush"}
DELEGATION = "header.X-Iceberg-Access-Delegation"
ACCESS = ("vended", "remote-signing", "static", None)
STORAGES = ("s3", "gcs", "adls", None)


def shipped_catalog(name: str, monkeypatch: pytest.MonkeyPatch) -> CatalogSettings:
    for variable, value in LOGIN.items():
        monkeypatch.setenv(variable, value)
    return load_settings(CONF, {"LAKEHOUSE_CATALOG": name}).catalog


def test_glue_is_found_by_both_sides_in_its_region(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = shipped_catalog("glue", monkeypatch)
    assert python_properties(catalog) == {
        "warehouse": "s3://lake/warehouse",
        "glue.region": "eu-central-1",
        "s3.region": "eu-central-1",
    }
    assert java_properties(catalog) == {
        "client.region": "eu-central-1",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
    }


@pytest.mark.parametrize("name", ["polaris-aws", "polaris-gcp", "polaris-azure"])
def test_polaris_is_asked_for_vended_credentials_by_both(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = shipped_catalog(name, monkeypatch)
    python, java = python_properties(catalog), java_properties(catalog)
    for side in (python, java):
        assert side[DELEGATION] == "vended-credentials"
        assert side["header.Polaris-Realm"] == "POLARIS"
        assert (side["scope"], side["credential"]) == ("PRINCIPAL_ROLE:ALL", "id:hush")
    assert java["oauth2-server-uri"] == "https://polaris.example/api/catalog/v1/oauth/tokens"
    assert java["token-refresh-enabled"] == "true"
    assert "FileIO" in java["io-impl"]
    assert not [key for key in java | python if "secret" in key or "account-key" in key]


def test_an_s3_compatible_store_is_asked_for_nothing_and_given_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = shipped_catalog("s3-compatible", monkeypatch)
    python, java = python_properties(catalog), java_properties(catalog)
    assert python[DELEGATION] == "", "PyIceberg would ask for vended credentials by itself"
    assert DELEGATION not in java
    assert (python["s3.region"], java["client.region"]) == ("us-east-1", "us-east-1")
    assert (python["s3.force-virtual-addressing"], java["s3.path-style-access"]) == ("false", "true")
    assert python["s3.secret-access-key"] == java["s3.secret-access-key"] == "hush"


@pytest.mark.parametrize(("access", "storage"), [*itertools.product(ACCESS, STORAGES)])
def test_every_pair_of_access_and_storage_says_the_same_to_both(access: str | None, storage: str | None) -> None:
    catalog = CatalogSettings.model_validate(
        {"type": "rest", "uri": "http://rest", "warehouse": "lake", "access": access, "storage": storage}
    )
    python, java = python_properties(catalog), java_properties(catalog)
    assert python.get(DELEGATION) in {java.get(DELEGATION), ""}
    assert ("io-impl" in java) == (storage is not None)
    assert "io-impl" not in python, "PyIceberg chooses by the address"
    assert (python["uri"], python["warehouse"]) == ("http://rest", "lake")


def test_a_shared_key_in_azure_has_its_account_in_java() -> None:
    catalog = CatalogSettings(
        type="rest",
        uri="http://rest",
        warehouse="lake",
        storage="adls",
        account="lakeprod",
        access="static",
        properties={"adls.account-key": SecretStr("hush")},
    )
    java = java_properties(catalog)
    assert java["adls.auth.shared-key.account.name"] == "lakeprod"
    assert java["adls.auth.shared-key.account.key"] == "hush"
    assert python_properties(catalog)["adls.account-name"] == "lakeprod"


def test_a_secret_with_a_character_that_nobody_sees_is_refused_by_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = shipped_catalog("polaris-aws", monkeypatch)
    monkeypatch.setenv("LAKE_CREDENTIAL", "id:hu\u200bsh")
    with pytest.raises(SettingsError, match=r"credential.*U\+200B.*position 6") as caught:
        python_properties(catalog)
    assert "hu" not in str(caught.value).replace("without", "")


def test_so_is_one_within_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_PASSWORD", "hu\tsh")
    catalog = load_settings(CONF, {"LAKEHOUSE_CATALOG": "postgresql"}).catalog
    with pytest.raises(SettingsError, match=r"property uri.*U\+0009"):
        python_properties(catalog)


def test_an_address_that_is_none_is_refused_before_sqlalchemy_repeats_it() -> None:
    catalog = CatalogSettings(type="sql", uri="postgresql+psycopg://u:p@ss:hush@h:5/db", warehouse="/w")
    with pytest.raises(SettingsError, match="no address of a database") as caught:
        python_properties(catalog)
    assert "hush" not in str(caught.value)


SECRETS = st.text(st.characters(categories=["L", "N"]), min_size=8, max_size=20).map(lambda text: f"hush{text}hush")


@settings(max_examples=40, deadline=None, derandomize=True)
@given(secret=SECRETS, access=st.sampled_from(["static", None]), storage=st.sampled_from(STORAGES))
def test_no_secret_is_in_what_is_shown(secret: str, access: str | None, storage: str | None) -> None:
    catalog = CatalogSettings.model_validate(
        {
            "type": "rest",
            "uri": f"https://user:{secret}@rest",
            "warehouse": "lake",
            "access": access,
            "storage": storage,
            "properties": {"credential": f"id:{secret}", "s3.secret-access-key": secret, "adls.account-key": secret},
        }
    )
    shown = f"{catalog!r} {catalog} {catalog.model_dump_json()} {typed_properties(catalog, 'java')}"
    assert secret not in shown
    assert secret in str(java_properties(catalog)), "it reaches whom it is for"
    assert secret in str(python_properties(catalog))


def test_an_address_that_is_looked_up_names_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST", "hush..example")
    uri = LateSecret("https://${env:HOST}/api/catalog", where="x.yaml, key uri", in_address=True)
    with pytest.raises(SettingsError, match="property uri, which is a secret, should be an address such as") as refused:
        python_properties(CatalogSettings(type="rest", uri=uri, warehouse="lake"))
    assert "hush" not in str(refused.value)
