"""What is read: all that is declared, and of everything else the name."""

from lakehouse.polaris import PolarisApi, PolarisServer, survey, wanted
from lakehouse.polaris.state import Grant
from lakehouse_tests.polaris.played_server import PlayedPolaris


def test_of_an_empty_server_nothing_is_found(api: PolarisApi, server: PolarisServer) -> None:
    surveyed = survey(api, server)
    assert (surveyed.catalogs, surveyed.principals, surveyed.others) == ({}, {}, ())
    assert surveyed.principal_roles == {"service_admin"}


def test_what_was_applied_is_found(applied: PlayedPolaris, api: PolarisApi, server: PolarisServer) -> None:
    surveyed, should = survey(api, server), wanted(server)
    for name, catalog in should.catalogs.items():
        assert surveyed.catalogs[name].roles == catalog.roles
        assert surveyed.catalogs[name].namespaces == catalog.namespaces
        assert surveyed.catalogs[name].storage == catalog.storage
        assert surveyed.catalogs[name].version == 1
    assert {name: principal.roles for name, principal in surveyed.principals.items()} == {
        name: principal.roles for name, principal in should.principals.items()
    }


def test_what_nobody_declared_is_named(applied: PlayedPolaris, api: PolarisApi, server: PolarisServer) -> None:
    applied.catalogs["theirs"] = {**applied.catalogs["lake_aws"], "name": "theirs"}
    applied.principals["bob"] = {"name": "bob"}
    applied.principal_roles.add("analysts")
    applied.catalog_roles["lake_aws"]["everything"] = []
    assert survey(api, server).others == (
        "catalog theirs",
        "principal bob",
        "principal role analysts",
        "catalog role everything of lake_aws",
    )


def test_grants_of_every_kind_are_read(applied: PlayedPolaris, api: PolarisApi, server: PolarisServer) -> None:
    grants = applied.catalog_roles["lake_gcp"]["reader"]
    grants.append({"type": "policy", "privilege": "POLICY_READ", "namespace": ["raw"], "policyName": "expiry"})
    assert (
        Grant("policy", "POLICY_READ", ("raw",), "expiry")
        in survey(api, server).catalogs["lake_gcp"].roles["reader"].grants
    )


def test_it_changes_nothing(applied: PlayedPolaris, api: PolarisApi, server: PolarisServer) -> None:
    before = len(applied.writes)
    survey(api, server)
    assert len(applied.writes) == before
