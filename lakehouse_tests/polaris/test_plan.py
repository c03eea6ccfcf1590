"""Differences: each is told, each has the request that ends it, and what is not declared is left alone."""

from collections.abc import Callable
from typing import Any

import pytest

from lakehouse.polaris import PolarisApi, PolarisPlan, PolarisServer, plan_polaris, survey, wanted
from lakehouse_tests.polaris.played_server import ROOT, PlayedPolaris

Plan = Callable[..., PolarisPlan]


@pytest.fixture
def plan(declare: Callable[..., PolarisServer]) -> Plan:
    def plan(*replaced: tuple[str, str]) -> PolarisPlan:
        server = declare(*replaced)
        return plan_polaris(wanted(server), survey(PolarisApi(server), server))

    return plan


def lines(plan: PolarisPlan) -> list[str]:
    return [line for change in plan.changes for line in str(change).splitlines()]


def test_what_is_as_declared_has_no_differences(applied: PlayedPolaris, plan: Plan) -> None:
    assert not plan().drift


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("region", "us-east-1", "  region: us-east-1 → eu-central-1"),
        ("endpoint", "https://s3.evil.example", "  endpoint: https://s3.evil.example → (none)"),
        ("stsUnavailable", True, "  stsUnavailable: True → (none)"),
        ("allowedLocations", ["s3://acme-lake"], "  allowedLocations: s3://acme-lake → s3://acme-lake/warehouse"),
    ],
)
def test_storage_that_somebody_changed_is_told(
    applied: PlayedPolaris, plan: Plan, key: str, value: object, expected: str
) -> None:
    applied.catalogs["lake_aws"]["storageConfigInfo"][key] = value
    assert lines(plan()) == ["update catalog lake_aws", expected]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("pathStyleAccess", False), ("userArn", "arn:aws:iam::1:user/x"), ("kmsUnavailable", None)),
        ("allowedLocations", ["s3://acme-lake/warehouse/"]),
    ],
)
def test_what_polaris_adds_by_itself_is_no_difference(
    applied: PlayedPolaris, plan: Plan, key: str, value: object
) -> None:
    applied.catalogs["lake_aws"]["storageConfigInfo"][key] = value
    assert not plan().drift


def test_an_update_keeps_what_is_not_declared(applied: PlayedPolaris, plan: Plan) -> None:
    catalog = applied.catalogs["lake_aws"]
    catalog["storageConfigInfo"].update(region="us-east-1", storageName="first")
    catalog["properties"]["polaris.config.list-pagination-enabled"] = "true"
    catalog["entityVersion"] = 7
    (change,) = plan().changes
    body: Any = change.request.body
    assert body["currentEntityVersion"] == 7
    assert body["properties"]["polaris.config.list-pagination-enabled"] == "true"
    assert body["storageConfigInfo"]["storageName"] == "first"
    assert body["storageConfigInfo"]["region"] == "eu-central-1"


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ("123456789012:role", "210987654321:role", "the AWS account of roleArn"),
        ("external_id: acme-lake", "external_id: other", "externalId"),
        ("0f8fad5b-", "1f8fad5b-", "tenantId"),
        (
            "gs://acme-lake/warehouse\n    storage:\n      type: gcs\n      service_account:",
            "s3://acme-gcp\n    storage:\n      type: s3\n      endpoint: https://store.example #",
            "storageType",
        ),
    ],
)
def test_what_polaris_lets_nobody_change_is_refused(
    applied: PlayedPolaris, plan: Plan, before: str, after: str, key: str
) -> None:
    refused = plan((before, after))
    assert [key in refusal.problem for refusal in refused.refused] == [True]
    assert not [change for change in refused.changes if change.action == "update"]


def test_rights_that_nobody_declared_are_taken_away_after_all_else(applied: PlayedPolaris, plan: Plan) -> None:
    everything = {"type": "catalog", "privilege": "CATALOG_MANAGE_CONTENT"}
    applied.catalog_roles["lake_aws"]["reader"].append(everything)
    applied.roles_of["lake-reader"].add("service_admin")
    applied.principal_roles.add("analysts")
    applied.holders["lake_aws", "reader"].add("analysts")
    applied.namespaces["lake_gcp"].clear()
    differences = plan()
    assert lines(differences) == [
        "create namespace raw of lake_gcp",
        "revoke principal role service_admin from principal lake-reader",
        "revoke CATALOG_MANAGE_CONTENT on catalog from catalog role reader of lake_aws",
        "revoke catalog role reader of lake_aws from principal role analysts",
    ]
    assert differences.others == ("principal role analysts",)


def test_what_is_not_declared_any_more_is_not_dropped(applied: PlayedPolaris, plan: Plan) -> None:
    differences = plan(("  lake-reader:\n    roles: [lake_reader]\n", ""))
    assert not differences.drift
    assert differences.others == ("principal lake-reader",)


def test_no_request_of_any_plan_drops_something(applied: PlayedPolaris, plan: Plan) -> None:
    applied.roles_of["lake-reader"].add("service_admin")
    applied.catalog_roles["lake_aws"]["reader"].append({"type": "catalog", "privilege": "TABLE_DROP"})
    deleted = [change.request.path[3:] for change in plan().changes if change.request.method == "DELETE"]
    assert deleted == [("principals", "lake-reader", "principal-roles", "service_admin")]


def test_whom_the_file_logs_in_as_keeps_the_role_to_manage(applied: PlayedPolaris, plan: Plan) -> None:
    applied.principals["lake-reader"]["clientId"] = ROOT
    applied.roles_of["lake-reader"].add("service_admin")
    [refused] = plan().refused
    assert refused.problem.startswith("principal lake-reader: without service_admin nobody could log in")
    applied.principals["lake-reader"]["clientId"] = "another"
    assert "revoke principal role service_admin from principal lake-reader" in lines(plan())


def test_a_catalog_that_polaris_does_not_keep_is_none_that_is_declared(applied: PlayedPolaris, plan: Plan) -> None:
    applied.catalogs["lake_aws"]["type"] = "EXTERNAL"
    [refused] = plan().refused
    assert refused.problem.startswith("catalog lake_aws: it is EXTERNAL")


def test_an_empty_external_id_is_none(applied: PlayedPolaris, plan: Plan) -> None:
    storage = applied.catalogs["lake_aws"]["storageConfigInfo"]
    storage["externalId"] = ""
    declared = plan(("      external_id: acme-lake\n", ""))
    assert not declared.refused
