"""The file of `polaris setup apply`: the same as the requests, and a word about what it cannot say."""

from collections.abc import Callable

import yaml

from lakehouse.polaris import PolarisServer
from lakehouse.polaris.setup_file import setup_file


def test_it_says_what_is_declared(server: PolarisServer) -> None:
    document = yaml.safe_load(setup_file(server))
    (azure,) = [catalog for catalog in document["catalogs"] if catalog["storage_type"] == "azure"]
    assert azure == {
        "name": "lake_azure",
        "type": "internal",
        "storage_type": "azure",
        "default_base_location": "abfss://lake@acmelake.dfs.core.windows.net/warehouse",
        "allowed_locations": ["abfss://lake@acmelake.dfs.core.windows.net/warehouse"],
        "tenant_id": "0f8fad5b-d9cb-469f-a165-70867728950e",
        "hierarchical": True,
        "namespaces": ["raw"],
        "roles": {
            "reader": {
                "assign_to": ["lake_reader"],
                "privileges": {
                    "catalog": [
                        "NAMESPACE_LIST",
                        "NAMESPACE_READ_PROPERTIES",
                        "TABLE_READ_DATA",
                        "VIEW_READ_PROPERTIES",
                    ],
                    "namespace": {},
                },
            }
        },
    }
    assert document["principals"]["lake-reader"] == {"type": "service", "roles": ["lake_reader"]}


def test_it_names_what_setup_apply_cannot_grant(declare: Callable[..., PolarisServer]) -> None:
    server = declare(
        (
            "        principal_roles: [lake_transform]\n",
            "        principal_roles: [lake_transform]\n"
            "        privileges: {tables: {raw.flights: [TABLE_SET_SNAPSHOT_REF]}}\n",
        )
    )
    assert setup_file(server).splitlines()[0] == (
        "# `setup apply` grants nothing on a table: TABLE_SET_SNAPSHOT_REF on table raw.flights "
        "to catalog role transform of lake_aws"
    )


def test_no_secret_is_in_it(server: PolarisServer) -> None:
    assert "POLARIS_ADMIN" not in setup_file(server)
