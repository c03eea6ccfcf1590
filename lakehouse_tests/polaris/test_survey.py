"""What is read: all that is declared, and of everything else the name."""

from lakehouse.polaris import PolarisApi, PolarisServer, survey, wanted
from lakehouse.polaris.state import Grant
from lakehouse_tests.polaris.played_server import PlayedPolaris


def test_of_an_empty_server_nothing_is_found(api: PolarisApi, server: PolarisServer) -> None:
    found = survey(api, server)
    assert (found.catalogs, found.principals, found.others) == ({}, {}, ())
    assert found.principal_roles == {"service_admin"}


def test_what_was_applied_is_found(applied: PlayedPolaris, api: PolarisApi, server: PolarisServer) -> None:
    found, should = survey(api, server), wanted(server)
    for name, catalog in should.catalogs.items():
        assert found.catalogs[name].roles == catalog.roles
        assert found.catalogs[name].namespaces == catalog.namespaces
        assert found.catalogs[name].storage == catalog.storage
        assert found.catalogs[name].version == 1
    assert {name: one.roles for name, one in found.principals.items()} == {
        name: one.roles for name, one in should.principals.items()
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
