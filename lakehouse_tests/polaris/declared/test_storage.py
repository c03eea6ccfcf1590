"""Storage by cloud: what contradicts itself, or was pasted wrongly, is refused before Polaris is asked."""

import pytest
from pydantic import ValidationError

from lakehouse.polaris.declared.storage import AzureStorage, FileStorage, GcsStorage, S3Storage, problem_of_location

ROLE = "arn:aws:iam::123456789012:role/lake"
TENANT = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"role_arn": "arn:aws:iam::12345:role/lake"}, "the ARN of a role"),
        ({"role_arn": "arn:aws:iam::123456789012:user/lake"}, "the ARN of a role"),
        ({"role_arn": f"{ROLE}\u200b"}, "U\\+200B"),
        ({"role_arn": ROLE, "external_id": "a b"}, "as AWS has it"),
        ({"role_arn": ROLE, "region": "Frankfurt"}, "a region such as eu-central-1"),
        ({"role_arn": ROLE, "current_kms_key": "alias/lake"}, "the ARN of a key"),
        ({"role_arn": ROLE, "sts_unavailable": True}, "without STS nobody takes a role on"),
        ({}, "S3 of AWS needs role_arn"),
        ({"endpoint": "https://store.example", "external_id": "lake"}, "external_id belongs to a role"),
        ({"endpoint": "store.example"}, "an address such as"),
        ({"role_arn": ROLE, "rolearn": ROLE}, "Extra inputs"),
    ],
)
def test_what_s3_refuses(given: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        S3Storage.model_validate({"type": "s3", **given})


def test_what_the_others_refuse() -> None:
    with pytest.raises(ValidationError, match="a service account such as"):
        GcsStorage(type="gcs", service_account="lake@acme.example")
    with pytest.raises(ValidationError, match="a tenant's id"):
        AzureStorage(type="azure", tenant_id="acme")


def test_a_location_is_one_of_its_storage() -> None:
    s3 = S3Storage(type="s3", role_arn=ROLE)
    flat, tree = (
        AzureStorage(type="azure", tenant_id=TENANT),
        AzureStorage(type="azure", tenant_id=TENANT, hierarchical=True),
    )
    assert problem_of_location(s3, "s3://acme-lake/warehouse") is None
    assert problem_of_location(s3, "gs://acme-lake") == "should be an address such as s3://bucket/folder"
    assert problem_of_location(s3, "s3://acme-lake/a?b") is not None
    assert problem_of_location(FileStorage(type="file"), "file:///lake") is None
    assert problem_of_location(FileStorage(type="file"), "file://[::1") is not None
    wasb = "wasbs://lake@acmelake.blob.core.windows.net/warehouse"
    assert problem_of_location(flat, wasb) is None
    assert "flat kind" in str(problem_of_location(tree, wasb))
    assert problem_of_location(tree, "abfss://lake@acmelake.dfs.core.windows.net/w") is None
