"""An API server's refusals are named with what to do; what it could not answer is asked again."""

from collections.abc import Iterator

import pytest

from lakehouse.engines.submit.kubernetes.access import ClusterAccess
from lakehouse.engines.submit.kubernetes.api import KubernetesApi, KubernetesRefused, KubernetesUnreachable
from lakehouse.engines.submit.kubernetes.spark_application import API
from lakehouse_tests.fixtures.kubernetes_api import FakeCluster, fake_cluster


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with fake_cluster() as running:
        yield running


def api_of(cluster: FakeCluster, token: str = "") -> KubernetesApi:
    return KubernetesApi(ClusterAccess(cluster.server, None, lambda: token or cluster.token), "lakehouse")


def test_what_is_not_there_is_none_and_its_removal_nothing(cluster: FakeCluster) -> None:
    api = api_of(cluster)
    assert api.get(API, "nobody") is None
    api.delete(API, "nobody")
    assert api.get(API, labelSelector="a=b") == {"items": []}
    assert "DELETE" in cluster.requests[1]
    assert "propagationPolicy=Foreground" in cluster.requests[1]


def test_a_server_that_is_busy_is_asked_again(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib3.util.retry.time.sleep", lambda _: None)
    cluster.failing = [503, 429]
    assert api_of(cluster).get(API, "nobody") is None
    assert len(cluster.requests) == 3


def test_a_refusal_names_the_request_and_the_permission(cluster: FakeCluster) -> None:
    with pytest.raises(KubernetesRefused, match=r"GET /apis/spark\.apache\.org/v1/.* is refused \(401\)") as caught:
        api_of(cluster, "another").get(API, "x")
    assert "spark-on-kubernetes.md" in caught.value.remedy
    assert "another" not in str(caught.value)
    body = {"metadata": {"name": "x"}, "spec": {"runtimeVersions": {"sparkVersion": "4.1.3"}, "sparkVersoin": "4"}}
    with pytest.raises(KubernetesRefused, match="sparkVersoin") as caught:
        api_of(cluster).create(API, body)
    assert "operator" in caught.value.remedy


def test_a_server_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib3.util.retry.time.sleep", lambda _: None)
    with fake_cluster() as cluster:
        api = api_of(cluster)
    with pytest.raises(KubernetesUnreachable, match="does not answer"):
        api.get(API, "x")
