"""A job is one SparkApplication: made once, found by its token, watched, deleted, and what its pods asked for."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakehouse.engines.submit.kubernetes.access import ClusterAccess
from lakehouse.engines.submit.kubernetes.api import KubernetesApi
from lakehouse.engines.submit.kubernetes.jobs import KubernetesJobs
from lakehouse.engines.submit.remote_jobs import JobCost, JobState, LaunchToken
from lakehouse.settings import Platform
from lakehouse_tests.fixtures.kubernetes_api import FakeCluster, fake_cluster
from lakehouse_tests.fixtures.spark import settings_of

TOKEN = LaunchToken("ingest_birds", "run-1", 1)
FOLDER = "s3://bucket/steps/ingest_birds/run-1/1"
PLATFORM = {
    "name": "kubernetes",
    "mode": "submit",
    "messages": "s3://bucket/steps",
    "stop_timeout_seconds": 0.2,
    "kubernetes": {"image": "registry.example.com/lakehouse:1"},
    "conf": {"spark.executor.memory": "4g", "spark.sql.shuffle.partitions": "8"},
}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with fake_cluster() as running:
        yield running


@pytest.fixture
def jobs(cluster: FakeCluster, tmp_path: Path, jars: Path) -> KubernetesJobs:
    settings = settings_of(tmp_path, jars, Platform.model_validate(PLATFORM))
    api = KubernetesApi(ClusterAccess(cluster.server, None, lambda: cluster.token), "lakehouse")
    assert settings.platform.kubernetes is not None
    return KubernetesJobs(settings, settings.platform.kubernetes, api)


def test_a_retry_finds_the_application_that_it_made(cluster: FakeCluster, jobs: KubernetesJobs) -> None:
    assert jobs.find(TOKEN) is None
    job = jobs.start(TOKEN, FOLDER)
    assert jobs.find(TOKEN) == job
    assert jobs.start(TOKEN, FOLDER) == job, "an answer that was lost is asked for again"
    assert list(cluster.applications) == [job]
    assert jobs.find(LaunchToken("ingest_birds", "run-1", 2)) is None
    spec = cluster.applications[job]["spec"]
    folder, environ = spec["driverArgs"][1::2]
    assert folder == FOLDER
    assert json.loads(environ)["LAKEHOUSE__PLATFORM__MODE"] == "driver", "it must not submit in its turn"
    assert spec["sparkConf"]["spark.executor.memory"] == "4g"
    assert "IcebergSparkSessionExtensions" in spec["sparkConf"]["spark.sql.extensions"]
    assert "spark.sql.shuffle.partitions" not in spec["sparkConf"], "each session sets it"


def test_the_operators_states_are_three(cluster: FakeCluster, jobs: KubernetesJobs) -> None:
    job = jobs.start(TOKEN, FOLDER)
    assert jobs.state(job) == JobState("waiting")
    cluster.set_state(job, "Submitted", "DriverRequested")
    assert jobs.state(job).phase == "waiting"
    cluster.set_state(job, "Submitted", "DriverReady", "RunningHealthy")
    assert jobs.state(job).phase == "running"
    assert [token for token, _ in jobs.at_work("ingest_birds")] == [TOKEN]
    assert list(jobs.at_work("mirror_birds")) == []
    pod = f"{job}-0-driver"
    labels = {"spark-role": "driver", "lakehouse/token": TOKEN.digest}
    cluster.pods[pod] = {"metadata": {"name": pod, "labels": labels}, "spec": {"containers": []}}
    cluster.logs[pod] = "Traceback\nMemoryError\n"
    cluster.set_state(job, "RunningHealthy", "Failed", "ResourceReleased", message="driver exited with 1")
    assert jobs.state(job) == JobState("ended", "Failed | driver exited with 1 | Traceback | MemoryError")
    assert list(jobs.at_work("ingest_birds")) == []
    del cluster.applications[job]
    assert jobs.state(job) == JobState("ended", "its SparkApplication was deleted")


def test_a_cancelled_job_is_deleted_and_waited_for(cluster: FakeCluster, jobs: KubernetesJobs) -> None:
    job = jobs.start(TOKEN, FOLDER)
    jobs.cancel(job)
    assert cluster.applications == {}
    jobs.cancel(job)
    assert [request.partition(" ")[0] for request in cluster.requests[-4:]] == ["DELETE", "GET", "DELETE", "GET"]


def test_its_pods_say_what_it_cost_and_where_logs_are(cluster: FakeCluster, jobs: KubernetesJobs) -> None:
    job = jobs.start(TOKEN, FOLDER)
    ended = [{"state": {"terminated": {"finishedAt": "2026-11-25T10:30:00Z"}}}]
    for number, cpu in enumerate(("1", "2")):
        cluster.pods[f"pod-{number}"] = {
            "metadata": {"name": f"pod-{number}", "labels": {"lakehouse/token": TOKEN.digest}},
            "spec": {"containers": [{"resources": {"requests": {"cpu": cpu, "memory": "2G"}}}]},
            "status": {"startTime": "2026-11-25T10:00:00Z", "containerStatuses": ended},
        }
    cluster.pods["another"] = {"metadata": {"name": "another", "labels": {}}, "spec": {"containers": []}}
    assert jobs.cost(job) == JobCost(vcpu_hours=1.5, memory_gb_hours=2.0)
    assert jobs.logs(job) == f"kubectl logs -n lakehouse -l spark-role=driver,lakehouse/token={TOKEN.digest}"
