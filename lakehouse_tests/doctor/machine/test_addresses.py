import pytest

from lakehouse.doctor.machine.addresses import address, cluster_addresses, port_of
from lakehouse.settings import load_settings
from lakehouse_tests.fixtures.spark import REPOSITORY


def test_a_nodeport_at_a_name_of_the_cluster_is_named() -> None:
    (finding,) = address("kafka", "bootstrap_servers", "kafka://kafka.prod.svc.cluster.local:31092")
    assert "NodePort" in finding.message
    assert "a node's address with 31092" in finding.remedy


def test_a_name_that_only_the_cluster_knows_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    (finding,) = address("catalog", "uri", "http://polaris.prod.svc:8181/api/catalog")
    assert "here is outside" in finding.message


def test_other_addresses_are_no_matter() -> None:
    assert list(address("catalog", "uri", "http://10.0.0.7:31092")) == []
    assert list(cluster_addresses(load_settings(REPOSITORY / "conf", {}))) == []


@pytest.mark.parametrize("server", ["b:abc", "b", "b:99999", ":9092", "::1:9092", "[::1", "http://b"])
def test_a_broker_that_is_not_host_and_port_is_named(server: str) -> None:
    settings = load_settings(REPOSITORY / "conf", {"LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS": f"a:1,{server}"})
    (finding,) = cluster_addresses(settings)
    assert (finding.check, finding.state, f"{server!r} is not" in finding.message) == ("kafka", "wrong", True)


def test_brokers_are_named_in_each_form_of_kafka() -> None:
    assert [port_of(server) for server in ("b:9092", "[::1]:9093", "SASL_SSL://b:9094")] == [9092, 9093, 9094]


def test_an_address_that_is_none_is_named_without_its_password() -> None:
    (finding,) = address("catalog", "uri of the catalog", "http://me:hush@host:abc/")
    assert (finding.state, "hush" in str(finding)) == ("wrong", False)
