"""What should be there: storage by cloud, and the grants of each task where it is done."""

from collections.abc import Callable

from lakehouse.polaris import PolarisServer, wanted
from lakehouse.polaris.declared.catalog import CatalogRole
from lakehouse.polaris.state import Grant
from lakehouse.polaris.wanted import grants_of


def test_storage_is_said_as_the_api_has_it(server: PolarisServer) -> None:
    catalogs = wanted(server).catalogs
    assert catalogs["lake_aws"].storage == {
        "storageType": "S3",
        "allowedLocations": ["s3://acme-lake/warehouse"],
        "roleArn": "arn:aws:iam::123456789012:role/lake-polaris",
        "externalId": "acme-lake",
        "region": "eu-central-1",
    }
    assert catalogs["lake_gcp"].storage == {
        "storageType": "GCS",
        "allowedLocations": ["gs://acme-lake/warehouse"],
        "gcsServiceAccount": "lake-polaris@acme.iam.gserviceaccount.com",
    }
    assert catalogs["lake_azure"].storage == {
        "storageType": "AZURE",
        "allowedLocations": ["abfss://lake@acmelake.dfs.core.windows.net/warehouse"],
        "tenantId": "0f8fad5b-d9cb-469f-a165-70867728950e",
        "hierarchical": True,
    }


def test_a_task_writes_in_its_namespaces_alone(server: PolarisServer) -> None:
    grants = wanted(server).catalogs["lake_aws"].roles["transform"].grants
    written = {grant.namespace for grant in grants if "WRITE" in grant.privilege}
    assert written == {("mart",), ("release",), ("lakehouse",)}
    assert {grant.namespace for grant in grants if grant.privilege == "TABLE_READ_DATA"} == {
        *(("raw",), ("changelog",), ("mirror",))
    }
    assert {grant.privilege for grant in grants if grant.type == "catalog"} == {"NAMESPACE_LIST"}


def test_without_namespaces_a_task_is_done_in_the_whole_catalog() -> None:
    assert {grant.type for grant in grants_of(CatalogRole(task="reader"))} == {"catalog"}


def test_privileges_are_named_beside_a_task() -> None:
    role = CatalogRole.model_validate(
        {"privileges": {"catalog": ["VIEW_LIST"], "tables": {"raw.eu.flights": ["TABLE_SET_SNAPSHOT_REF"]}}}
    )
    assert list(grants_of(role)) == [
        Grant("catalog", "VIEW_LIST"),
        Grant("table", "TABLE_SET_SNAPSHOT_REF", ("raw", "eu"), "flights"),
    ]


def test_parents_of_a_namespace_are_made_too(declare: Callable[..., PolarisServer]) -> None:
    server = declare(("release, lakehouse]\n    # What", "release, lakehouse, a.b.c]\n    # What"))
    assert {"a", "a.b", "a.b.c"} <= wanted(server).catalogs["lake_aws"].namespaces
