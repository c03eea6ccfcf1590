"""Each request to EMR Serverless, as botocore's model of the service takes it; no service has answered these."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session
from botocore.stub import ANY, Stubber

from lakehouse.engines.submit.aws.client import AwsRefused
from lakehouse.engines.submit.aws.emr_serverless import EmrServerlessJobs
from lakehouse.engines.submit.remote_jobs import JobCost, JobState, LaunchToken
from lakehouse.settings import Platform
from lakehouse_tests.fixtures.spark import settings_of

TOKEN = LaunchToken("ingest_birds", "run-1", 1)
FOLDER = "s3://bucket/steps/ingest_birds/run-1/1"
APPLICATION, ROLE = "00f1r2s3t4u5v6w7", "arn:aws:iam::123456789012:role/lakehouse-step"
ASKED = {"applicationId": APPLICATION, "jobRunId": "job-1"}
PLATFORM = {
    "name": "emr-serverless",
    "mode": "submit",
    "messages": "s3://bucket/steps",
    "stop_timeout_seconds": 5,
    "emr_serverless": {
        "application": APPLICATION,
        "role": ROLE,
        "region": "eu-central-1",
        "program": "s3://bucket/code/remote_step.py",
        "archive": "s3://bucket/code/environment.tar.gz",
        "log_location": "s3://bucket/logs/",
    },
    "conf": {"spark.executor.memory": "12g"},
}


@pytest.fixture
def service() -> Iterator[Stubber]:
    session = get_session()
    session.set_credentials("key", "secret")
    with Stubber(session.create_client("emr-serverless", region_name="eu-central-1")) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def jobs(service: Stubber, tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch) -> EmrServerlessJobs:
    settings = settings_of(tmp_path, jars, Platform.model_validate(PLATFORM))
    assert settings.platform.emr_serverless is not None
    monkeypatch.setattr(EmrServerlessJobs, "look_seconds", 0.01)
    return EmrServerlessJobs(settings, settings.platform.emr_serverless, service.client)


def run(state: str, **more: Any) -> dict[str, Any]:
    """What `GetJobRun` answers."""
    moment = datetime(2026, 11, 25, tzinfo=UTC)
    job = {"applicationId": APPLICATION, "jobRunId": "job-1", "arn": "a" * 60, "createdBy": "c" * 20, "state": state}
    times = {"createdAt": moment, "updatedAt": moment}
    described = {**times, "executionRole": ROLE, "stateDetails": "-", "releaseLabel": "r"}
    return {"jobRun": {**job, **described, "jobDriver": {"sparkSubmit": {"entryPoint": "e"}}, **more}}


def listed(job: str, token: LaunchToken, state: str = "RUNNING") -> dict[str, Any]:
    """An entry of `ListJobRuns`."""
    described = run(state)["jobRun"]
    del described["jobRunId"], described["jobDriver"]
    return {**described, "id": job, "name": str(token)}


def test_the_attempt_is_the_client_token(service: Stubber, jobs: EmrServerlessJobs) -> None:
    expected: dict[str, Any] = {
        "applicationId": APPLICATION,
        "clientToken": f"lakehouse-{TOKEN.digest}",
        "executionRoleArn": ROLE,
        "name": "ingest_birds/run-1/1",
        "jobDriver": {
            "sparkSubmit": {
                "entryPoint": "s3://bucket/code/remote_step.py",
                "entryPointArguments": ["--folder", FOLDER, "--environ", ANY],
            }
        },
        "configurationOverrides": ANY,
        "executionTimeoutMinutes": 720,
        "tags": {"lakehouse:step": "ingest_birds", "lakehouse:execution": "run-1"},
    }
    sent: list[dict[str, Any]] = []
    service.client.meta.events.register("provide-client-params.*.StartJobRun", lambda params, **_: sent.append(params))
    answer = {"applicationId": APPLICATION, "jobRunId": "job-1", "arn": "a" * 60}
    for _ in range(2):
        service.add_response("start_job_run", answer, expected)
        assert jobs.start(TOKEN, FOLDER) == "job-1"
    first, second = sent
    assert first == second, "a start whose answer was lost is sent again as it was: the service gives the same job"
    environ = json.loads(first["jobDriver"]["sparkSubmit"]["entryPointArguments"][3])
    assert environ["LAKEHOUSE__PLATFORM__MODE"] == "driver"
    assert environ["LAKEHOUSE_CONF"] == "./environment/conf"
    overrides = first["configurationOverrides"]
    assert overrides["monitoringConfiguration"] == {"s3MonitoringConfiguration": {"logUri": "s3://bucket/logs/"}}
    (spark,) = overrides["applicationConfiguration"]
    assert spark["classification"] == "spark-defaults"
    assert spark["properties"]["spark.archives"] == "s3://bucket/code/environment.tar.gz#environment"
    assert spark["properties"]["spark.emr-serverless.driverEnv.PYSPARK_DRIVER_PYTHON"] == "./environment/bin/python"
    assert spark["properties"]["spark.executor.memory"] == "12g"
    assert "IcebergSparkSessionExtensions" in spark["properties"]["spark.sql.extensions"]


def test_a_retry_finds_the_job_on_any_page(service: Stubber, jobs: EmrServerlessJobs) -> None:
    other = LaunchToken("ingest_birds", "run-2", 1)
    pages = [{"jobRuns": [listed("job-2", other)], "nextToken": "n"}, {"jobRuns": [listed("job-1", TOKEN)]}]
    service.add_response("list_job_runs", pages[0], {"applicationId": APPLICATION})
    service.add_response("list_job_runs", pages[1], {"applicationId": APPLICATION, "nextToken": "n"})
    assert jobs.find(TOKEN) == "job-1"
    service.add_response("list_job_runs", {"jobRuns": []}, {"applicationId": APPLICATION})
    assert jobs.find(TOKEN) is None


def test_what_is_at_work_for_a_step_is_listed_by_state(service: Stubber, jobs: EmrServerlessJobs) -> None:
    runs = [listed("job-1", TOKEN), listed("job-2", LaunchToken("mirror_birds", "run-1", 1)), listed("job-3", TOKEN)]
    runs[2]["name"] = "somebody else's"
    service.add_response("list_job_runs", {"jobRuns": runs}, {"applicationId": APPLICATION, "states": ANY})
    assert list(jobs.at_work("ingest_birds")) == [(TOKEN, "job-1")]


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        ("SUBMITTED", "waiting"),
        ("PENDING", "waiting"),
        ("SCHEDULED", "waiting"),
        ("QUEUED", "waiting"),
        ("RUNNING", "running"),
        ("CANCELLING", "running"),
        ("SUCCESS", "ended"),
        ("FAILED", "ended"),
        ("CANCELLED", "ended"),
    ],
)
def test_every_state_of_the_service_is_one_of_three(
    service: Stubber, jobs: EmrServerlessJobs, state: str, phase: Any
) -> None:
    service.add_response("get_job_run", run(state, stateDetails="why"), ASKED)
    assert jobs.state("job-1") == JobState(phase, f"{state}: why")
    known = service.client.meta.service_model.shape_for("JobRunState").enum
    assert len(known) == 9, "the service knows another state"


def test_a_cancelled_job_is_waited_for(service: Stubber, jobs: EmrServerlessJobs) -> None:
    service.add_response("get_job_run", run("RUNNING"), ASKED)
    service.add_response("cancel_job_run", ASKED, ASKED)
    service.add_response("get_job_run", run("CANCELLING"), ASKED)
    service.add_response("get_job_run", run("CANCELLED"), ASKED)
    jobs.cancel("job-1")
    service.add_response("get_job_run", run("CANCELLED"), ASKED)
    jobs.cancel("job-1")


def test_it_says_what_it_is_billed_for_and_where_its_logs_are(service: Stubber, jobs: EmrServerlessJobs) -> None:
    used = {"vCPUHour": 0.5, "memoryGBHour": 2.25, "storageGBHour": 0.0}
    billed = {"vCPUHour": 0.6, "memoryGBHour": 2.5, "storageGBHour": 0.0}
    service.add_response("get_job_run", run("SUCCESS", totalResourceUtilization=used), ASKED)
    assert jobs.cost("job-1") == JobCost(vcpu_hours=0.5, memory_gb_hours=2.25)
    both = run("SUCCESS", totalResourceUtilization=used, billedResourceUtilization=billed)
    service.add_response("get_job_run", both, ASKED)
    assert jobs.cost("job-1").metadata() == {"vCPU hours": 0.6, "memory GB hours": 2.5}
    service.add_response("get_job_run", run("RUNNING"), ASKED)
    assert jobs.cost("job-1").metadata() == {}
    assert jobs.logs("job-1") == f"s3://bucket/logs/applications/{APPLICATION}/jobs/job-1/SPARK_DRIVER/"


def test_a_refusal_names_the_request_and_the_page(service: Stubber, jobs: EmrServerlessJobs) -> None:
    service.add_client_error("get_job_run", "AccessDeniedException", "not authorized to perform: GetJobRun")
    with pytest.raises(AwsRefused, match="GetJobRun is refused: not authorized") as caught:
        jobs.state("job-1")
    assert "spark-on-aws.md" in caught.value.remedy
