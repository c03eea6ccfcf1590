"""A step as a SparkApplication, from Dagster's step to its materialization; a process of the test is the operator.

What is the operator's own (pods, images, Spark) is not here. What is ours is: object, messages, end, cost.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._serdes import serialize_value

from lakehouse.engines.submit.kubernetes.access import ClusterAccess
from lakehouse.engines.submit.kubernetes.api import KubernetesApi
from lakehouse.engines.submit.kubernetes.jobs import KubernetesJobs
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES
from lakehouse.orchestration.remote import asset as remote
from lakehouse.orchestration.remote import watched_job
from lakehouse.orchestration.remote.asset import remote_asset
from lakehouse.orchestration.resources import Lake
from lakehouse.settings import Platform, Settings
from lakehouse_tests.fixtures.kubernetes_api import FakeCluster, fake_cluster
from lakehouse_tests.fixtures.spark import settings_of

DRIVER = """
import json, sys, time
from dagster_pipes import PipesMappingParamsLoader, encode_param, open_dagster_pipes
from lakehouse.engines.submit.job_folder import JobFolder
from lakehouse.engines.submit.message_writer import FolderMessageWriter
from pyiceberg.io import load_file_io

location = sys.argv[sys.argv.index("--folder") + 1]
folder = JobFolder(None, location, load_file_io({}, location))
nothing = encode_param({})
params = {
    "DAGSTER_PIPES_CONTEXT": encode_param({"data": json.loads(folder.read("request.json"))}),
    "DAGSTER_PIPES_MESSAGES": nothing,
}
loader = PipesMappingParamsLoader(params)
with open_dagster_pipes(message_writer=FolderMessageWriter(folder, 0.02), params_loader=loader) as pipes:
    pipes.log.info("at work in a pod")
    if False:
        time.sleep(600)
    pipes.report_custom_message({"kind": "event", "event": EVENT})
    pipes.report_custom_message({"kind": "end", "outcome": "success", "seconds": 1.0})
"""


@contextmanager
def operator(cluster: FakeCluster, driver: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run the driver of each application that is made; end it when the application is deleted."""
    drivers: dict[str, subprocess.Popen[bytes]] = {}
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(0.02):
            for name, application in list(cluster.applications.items()):
                if name not in drivers:
                    arguments = [sys.executable, "-c", driver, name, *application["spec"]["driverArgs"]]
                    drivers[name] = subprocess.Popen(arguments)
                    pod = {"metadata": {"name": name, "labels": application["metadata"]["labels"]}}
                    requests = {"cpu": "1", "memory": "4G"}
                    finished = [{"state": {"terminated": {"finishedAt": "2026-11-25T10:15:00Z"}}}]
                    status = {"startTime": "2026-11-25T10:00:00Z", "containerStatuses": finished}
                    spec = {"containers": [{"resources": {"requests": requests}}]}
                    cluster.pods[name] = {**pod, "spec": spec, "status": status}
                    cluster.set_state(name, "Submitted", "RunningHealthy")
                elif drivers[name].poll() is not None:
                    state = "Succeeded" if drivers[name].returncode == 0 else "Failed"
                    cluster.set_state(name, "RunningHealthy", state, "TerminatedWithoutReleaseResources")
            for name in drivers.keys() - cluster.applications.keys():
                drivers[name].kill()

    thread = threading.Thread(target=work)
    thread.start()
    running: list[subprocess.Popen[bytes]] = []
    try:
        yield running
    finally:
        ended.set()
        thread.join()
        running += drivers.values()
        for process in drivers.values():
            process.kill()
            process.wait()


@dg.multi_asset(name="ingest_birds", specs=[dg.AssetSpec("birds", skippable=True)])
def _ingest_birds():  # Dagster would take an annotation for that of its outputs
    pytest.fail("the step is done elsewhere")


@pytest.fixture
def settings(tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Settings, FakeCluster]]:
    section = {"image": "registry.example.com/lakehouse:1"}
    given: dict[str, Any] = {
        "name": "k",
        "mode": "submit",
        "messages": str(tmp_path / "mounted"),
        "kubernetes": section,
    }
    built = settings_of(tmp_path / "state", jars, Platform.model_validate({**given, "stop_timeout_seconds": 2}))
    with fake_cluster() as cluster:
        api = KubernetesApi(ClusterAccess(cluster.server, None, lambda: cluster.token), "lakehouse")
        monkeypatch.setattr(KubernetesJobs, "look_seconds", 0.02)
        monkeypatch.setattr(remote, "remote_jobs", lambda s: KubernetesJobs(s, s.platform.kubernetes, api))
        yield built, cluster


def run(settings: Settings, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    asset = remote_asset(_ingest_birds, DEFAULT_NAMES)
    job = dg.Definitions(assets=[asset], resources={"lake": Lake(settings)}).resolve_implicit_global_asset_job_def()
    return job.execute_in_process(
        instance=instance, raise_on_error=False, tags={"lakehouse/runtime_date": "2013-05-14"}
    )


def driver() -> str:
    made = dg.AssetMaterialization("birds", metadata={"rows": 3}, tags={"lakehouse/runtime_date": "2013-05-14"})
    return DRIVER.replace("EVENT", repr(serialize_value(made)))


def test_a_step_is_done_in_a_pod_and_says_what_it_cost(settings: tuple[Settings, FakeCluster]) -> None:
    built, cluster = settings
    with dg.DagsterInstance.ephemeral() as instance, operator(cluster, driver()):
        result = run(built, instance)
        lines = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert result.success
    (event,) = result.get_asset_materialization_events()
    metadata = event.materialization.metadata
    assert (metadata["rows"].value, metadata["vCPU hours"].value, metadata["memory GB hours"].value) == (3, 0.25, 1.0)
    assert str(metadata["driver's logs"].value).startswith("kubectl logs -n lakehouse")
    assert "at work in a pod" in lines
    assert len(cluster.applications) == 1, "it stays for an hour: a retry would find it"


def test_a_cancelled_run_deletes_its_application(
    settings: tuple[Settings, FakeCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    built, cluster = settings
    real = watched_job._wait

    def cancelled(seconds: float) -> None:
        real(seconds)
        if any("at work in a pod" in line for line in _messages(Path(str(built.platform.messages)))):
            raise KeyboardInterrupt

    monkeypatch.setattr(watched_job, "_wait", cancelled)
    endless = driver().replace("if False", "if True")
    with dg.DagsterInstance.ephemeral() as instance, operator(cluster, endless) as drivers:
        assert not run(built, instance).success
        assert cluster.applications == {}
    (process,) = drivers
    assert process.returncode == -9


def _messages(folder: Path) -> Iterator[str]:
    for chunk in folder.glob("*/*/*/messages/*.jsonl"):
        yield from chunk.read_text().splitlines()
