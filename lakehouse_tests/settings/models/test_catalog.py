"""A file of `conf/catalogs/` agrees with itself, or the key is named that does not."""

import pytest
from pydantic import SecretStr, ValidationError

from lakehouse.settings import CatalogSettings

REST = {"type": "rest", "uri": "https://rest", "warehouse": "lake"}
SQL = {"type": "sql", "uri": "sqlite:////c.db", "warehouse": "file:///w"}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (REST | {"warehouse": "s3://lake", "storage": "gcs"}, "address is one of s3"),
        (REST | {"storage": "adls", "region": "eu-central-1"}, "region is of s3"),
        (REST | {"project": "lake-prod"}, "no such storage"),
        (REST | {"scope": "a", "properties": {"scope": "b"}}, "say the same twice"),
        (SQL | {"access": "vended"}, "a database lends no credentials"),
        ({"type": "rest", "warehouse": "lake"}, "uri is missing"),
        ({"type": "glue", "warehouse": "gs://lake/w"}, "an address in S3"),
        ({"type": "glue", "warehouse": "s3://lake/w", "access": "vended"}, "AWS Glue lends no credentials"),
        (SQL | {"realm": "POLARIS"}, "realm is of a REST catalog"),
        (REST | {"access": "vended", "properties": {"s3.secret-access-key": "x"}}, "clients hold no keys"),
        (REST | {"access": "remote-signing", "realm": "POLARIS"}, "Polaris signs no requests"),
        (REST | {"realm": "POLARIS", "warehouse": "a/b"}, "which Polaris refuses"),
        (REST | {"storage": "s3", "region": "Frankfurt"}, "should be a region"),
        (REST | {"uri": "https://a..b"}, "uri\n.*should be an address such as https://polaris.example/api/catalog"),
        (REST | {"storage": "s3", "endpoint": "http://[::1"}, "endpoint\n.*should be an address"),
        (REST | {"oauth2_server_uri": "http://a:99999999"}, "oauth2_server_uri\n.*should be an address"),
        (REST | {"properties": {"s3.endpoint": "http://[::1"}}, "The property s3.endpoint should be an address"),
        (REST | {"properties": {"auth": "x"}}, "The property auth is no text to PyIceberg.*credential or token"),
        (REST | {"properties": {"ssl": "x"}}, "The property ssl is no text to PyIceberg.*REQUESTS_CA_BUNDLE"),
        (REST | {"warehouse": "x://[::1"}, "warehouse\n.*no address"),
        (REST | {"warehouse": "lake\u200b"}, "zero width space"),
        (REST | {"properties": {"s3.role-arn": "arn:aws:iam::\n1:role/lake"}}, "s3.role-arn has U[+]000A"),
    ],
)
def test_what_contradicts_itself_is_refused(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        CatalogSettings.model_validate(changes)


def test_the_storage_is_known_by_the_warehouse() -> None:
    assert CatalogSettings.model_validate(SQL | {"warehouse": "gs://lake/w"}).file_storage == "gcs"
    assert CatalogSettings.model_validate(SQL).file_storage is None
    assert CatalogSettings.model_validate(REST | {"storage": "s3"}).file_storage == "s3"


def test_only_glue_has_a_reservation() -> None:
    glue = CatalogSettings.model_validate({"type": "glue", "warehouse": "s3://lake/w"})
    assert "P2 does not hold" in glue.reservation
    assert [CatalogSettings.model_validate(other).reservation for other in (SQL, REST)] == ["", ""]


def test_a_wrong_value_is_not_repeated() -> None:
    secret = SecretStr("hush")
    with pytest.raises(ValidationError) as caught:
        CatalogSettings.model_validate(REST | {"access": "vended", "properties": {"s3.secret-access-key": secret}})
    assert "hush" not in str(caught.value)
