"""Each request to AWS Glue, as botocore's model of the service takes it; no service has answered these."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session
from botocore.stub import ANY, Stubber

from lakehouse.engines.submit.aws.glue import GlueJobs
from lakehouse.engines.submit.remote_jobs import JobCost, JobState, LaunchToken
from lakehouse.settings import Platform
from lakehouse_tests.fixtures.spark import settings_of

TOKEN = LaunchToken("ingest_birds", "run-1", 1)
FOLDER = "s3://bucket/steps/ingest_birds/run-1/1"
JOB, ASKED = "lakehouse-step", {"JobName": "lakehouse-step", "RunId": "jr_1"}
PLATFORM = {
    "name": "glue",
    "mode": "submit",
    "messages": "s3://bucket/steps",
    "stop_timeout_seconds": 5,
    "glue": {"job": JOB, "region": "eu-central-1", "conf": "/tmp/conf"},
    "conf": {"spark.executor.memoryOverhead": "2g"},
}


@pytest.fixture
def service() -> Iterator[Stubber]:
    session = get_session()
    session.set_credentials("key", "secret")
    with Stubber(session.create_client("glue", region_name="eu-central-1")) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def jobs(service: Stubber, tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch) -> GlueJobs:
    settings = settings_of(tmp_path, jars, Platform.model_validate(PLATFORM))
    assert settings.platform.glue is not None
    monkeypatch.setattr(GlueJobs, "look_seconds", 0.01)
    return GlueJobs(settings, settings.platform.glue, service.client)


def run(state: str, token: LaunchToken = TOKEN, **more: Any) -> dict[str, Any]:
    """A run as the service has it."""
    arguments = {"--lakehouse-token": str(token), "--folder": FOLDER}
    return {"Id": "jr_1", "JobName": JOB, "JobRunState": state, "Arguments": arguments, **more}


def test_a_run_says_whose_it_is(service: Stubber, jobs: GlueJobs) -> None:
    service.add_response("get_job_runs", {"JobRuns": []}, {"JobName": JOB})
    sent: list[dict[str, Any]] = []
    service.client.meta.events.register("provide-client-params.*.StartJobRun", lambda params, **_: sent.append(params))
    expected = {
        "JobName": JOB,
        "Arguments": {"--lakehouse-token": str(TOKEN), "--folder": FOLDER, "--environ": ANY, "--conf": ANY},
        "WorkerType": "G.1X",
        "NumberOfWorkers": 3,
        "Timeout": 720,
        "ExecutionClass": "STANDARD",
    }
    service.add_response("start_job_run", {"JobRunId": "jr_1"}, expected)
    assert jobs.start(TOKEN, FOLDER) == "jr_1"
    properties = sent[0]["Arguments"]["--conf"].split(" --conf ")
    assert any(option.startswith("spark.sql.extensions=org.apache.iceberg") for option in properties)
    assert "spark.executor.memoryOverhead=2g" in properties


def test_a_retry_finds_the_run_and_starts_no_other(service: Stubber, jobs: GlueJobs) -> None:
    other = run("RUNNING", LaunchToken("ingest_birds", "run-2", 1), Id="jr_2")
    service.add_response("get_job_runs", {"JobRuns": [other], "NextToken": "n"}, {"JobName": JOB})
    service.add_response("get_job_runs", {"JobRuns": [run("RUNNING")]}, {"JobName": JOB, "NextToken": "n"})
    assert jobs.start(TOKEN, FOLDER) == "jr_1"
    service.add_response("get_job_runs", {"JobRuns": [run("SUCCEEDED")]}, {"JobName": JOB})
    assert jobs.find(TOKEN) == "jr_1", "also where it has ended meanwhile"


def test_what_is_at_work_for_a_step_is_known_by_its_argument(service: Stubber, jobs: GlueJobs) -> None:
    ended, another = run("FAILED", Id="jr_2"), run("RUNNING", LaunchToken("mirror_birds", "run-1", 1), Id="jr_3")
    runs = [run("STARTING"), ended, another, {"Id": "jr_4", "JobRunState": "RUNNING"}]
    service.add_response("get_job_runs", {"JobRuns": runs}, {"JobName": JOB})
    assert list(jobs.at_work("ingest_birds")) == [(TOKEN, "jr_1")]


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        ("WAITING", "waiting"),
        ("STARTING", "waiting"),
        ("RUNNING", "running"),
        ("STOPPING", "running"),
        ("STOPPED", "ended"),
        ("SUCCEEDED", "ended"),
        ("FAILED", "ended"),
        ("TIMEOUT", "ended"),
        ("ERROR", "ended"),
        ("EXPIRED", "ended"),
    ],
)
def test_every_state_of_the_service_is_one_of_three(service: Stubber, jobs: GlueJobs, state: str, phase: Any) -> None:
    service.add_response("get_job_run", {"JobRun": run(state, ErrorMessage="why")}, ASKED)
    assert jobs.state("jr_1") == JobState(phase, f"{state}: why")
    assert len(service.client.meta.service_model.shape_for("JobRunState").enum) == 10, "the service knows another state"


def test_a_cancelled_run_is_stopped_and_waited_for(service: Stubber, jobs: GlueJobs) -> None:
    service.add_response("get_job_run", {"JobRun": run("RUNNING")}, ASKED)
    service.add_response("batch_stop_job_run", {}, {"JobName": JOB, "JobRunIds": ["jr_1"]})
    service.add_response("get_job_run", {"JobRun": run("STOPPING")}, ASKED)
    service.add_response("get_job_run", {"JobRun": run("STOPPED")}, ASKED)
    jobs.cancel("jr_1")
    service.add_response("get_job_run", {"JobRun": run("SUCCEEDED")}, ASKED)
    jobs.cancel("jr_1")


def test_it_says_what_it_cost_and_where_its_logs_are(service: Stubber, jobs: GlueJobs) -> None:
    service.add_response("get_job_run", {"JobRun": run("SUCCEEDED", DPUSeconds=1800.0)}, ASKED)
    assert jobs.cost("jr_1") == JobCost(dpu_hours=0.5)
    measured = run("SUCCEEDED", ExecutionTime=900, WorkerType="G.2X", NumberOfWorkers=4)
    service.add_response("get_job_run", {"JobRun": measured}, ASKED)
    assert jobs.cost("jr_1").metadata() == {"DPU hours": 2.0}
    address = jobs.logs("jr_1")
    assert address.startswith("https://eu-central-1.console.aws.amazon.com/cloudwatch/")
    assert address.endswith("$252Faws-glue$252Fjobs$252Foutput/log-events/jr_1")
