import pytest

from lakehouse.doctor.machine.addresses import address, cluster_addresses
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
