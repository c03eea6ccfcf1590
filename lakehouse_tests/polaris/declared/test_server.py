"""A declared server: the address, the version, and what only shows where catalogs and principals stand together."""

from typing import Any

import pytest
from pydantic import ValidationError

from lakehouse.polaris.declared.server import PolarisServer

STORAGE = {"type": "s3", "role_arn": "arn:aws:iam::123456789012:role/lake"}


def server(**given: Any) -> PolarisServer:
    return PolarisServer.model_validate({"uri": "https://polaris.example", "credential": "root:secret", **given})


def two(first: str, second: str) -> dict[str, object]:
    return {"a": {"location": first, "storage": STORAGE}, "b": {"location": second, "storage": STORAGE}}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"uri": "https://polaris.example/api/catalog"}, "the server alone"),
        ({"uri": "polaris.example"}, "an address such as"),
        ({"uri": "https://a..b"}, "uri\n.*an address such as"),
        ({"oauth2_server_uri": "http://[::1"}, "oauth2_server_uri\n.*an address such as"),
        ({"health": "http://polaris:99999999"}, "health\n.*an address such as"),
        ({"realm": "a realm"}, "a realm such as POLARIS"),
        ({"version": "latest"}, "a version in quotes"),
        ({"version": 1.7}, "a version in quotes"),
        ({"catalogs": two("s3://acme/w", "s3://acme/w/b/")}, "a and b share a location"),
        ({"catalogs": {"system$a": {"location": "s3://acme/w", "storage": STORAGE}}}, "begins with system\\$"),
        ({"principals": {"p": {"roles": ["nobody"]}}}, "the role nobody, to which no catalog's role is given"),
    ],
)
def test_what_it_refuses(given: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        server(**given)


def test_neighbours_share_no_location() -> None:
    assert len(server(catalogs=two("s3://acme/w", "s3://acme/warehouse")).catalogs) == 2


def test_its_credential_shows_itself_to_nobody() -> None:
    assert "secret" not in repr(server()).replace("SecretStr", "")


def test_polaris_own_role_is_not_made() -> None:
    assert server(principals={"admin": {"roles": ["service_admin"]}}).principal_roles == ()
