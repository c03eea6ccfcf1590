"""A platform's section says who runs its jobs."""

from pathlib import Path
from typing import Any

import pytest

from lakehouse.engines.submit.aws.emr_serverless import EmrServerlessJobs
from lakehouse.engines.submit.aws.glue import GlueJobs
from lakehouse.engines.submit.kubernetes.jobs import KubernetesJobs
from lakehouse.engines.submit.services import remote_jobs
from lakehouse.engines.submit.spark_submit import SparkSubmitJobs
from lakehouse.settings import load_settings

CONF = Path(__file__).parents[3] / "conf"


@pytest.mark.parametrize(
    ("platform", "service"),
    [("kubernetes", KubernetesJobs), ("emr-serverless", EmrServerlessJobs), ("glue", GlueJobs)],
)
def test_the_shipped_files_choose_their_service(
    platform: str, service: type[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(
        "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
        "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: t}}]\n"
    )
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    jobs = remote_jobs(load_settings(CONF, {"LAKEHOUSE_PLATFORM": platform, "LAKEHOUSE_HOME": str(tmp_path)}))
    assert type(jobs) is service


def test_a_master_is_submitted_to_from_here(tmp_path: Path) -> None:
    environ = {"LAKEHOUSE_PLATFORM": "local", "LAKEHOUSE__PLATFORM__MODE": "submit", "LAKEHOUSE_HOME": str(tmp_path)}
    assert type(remote_jobs(load_settings(CONF, environ))) is SparkSubmitJobs
