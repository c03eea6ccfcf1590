"""A declared catalog: roles that name what is not there, or what Polaris does not have, are refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from lakehouse.polaris.declared.catalog import CatalogRole, PolarisCatalog

STORAGE = {"type": "s3", "role_arn": "arn:aws:iam::123456789012:role/lake"}


def catalog(**given: Any) -> PolarisCatalog:
    return PolarisCatalog.model_validate({"location": "s3://acme-lake/w/", "storage": STORAGE, **given})


def test_its_own_location_is_always_allowed() -> None:
    assert catalog(allowed_locations=("s3://acme-old",)).locations == ("s3://acme-lake/w", "s3://acme-old")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"location": "gs://acme"}, "a location should be an address such as s3://"),
        ({"allowed_locations": ["gs://acme"]}, "a location should be an address such as s3://"),
        ({"roles": {"catalog_admin": {}}}, "Polaris' own role"),
        ({"roles": {"a/b": {}}}, "has /, which Polaris refuses"),
        ({"namespaces": ["ra:w"]}, "has :, which Polaris refuses"),
        ({"properties": {"default-base-location": "s3://x"}}, "remove the property"),
        (
            {"roles": {"r": {"task": "reader", "namespaces": ["raw"]}}},
            "the namespace raw, which is not under namespaces",
        ),
        ({"roles": {"r": {"task": "writer"}}}, "Input should be"),
    ],
)
def test_what_it_refuses(given: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        catalog(**given)


def test_a_role_says_what_it_may() -> None:
    with pytest.raises(ValidationError, match="TABLE_CREATE is a privilege on a catalog or a namespace"):
        CatalogRole.model_validate({"privileges": {"tables": {"raw.flights": ["TABLE_CREATE"]}}})
    with pytest.raises(ValidationError, match="write task"):
        CatalogRole(namespaces=("raw",))
    with pytest.raises(ValidationError, match="remove reads"):
        CatalogRole(task="transform", reads=("raw",))
