"""How a step that was done elsewhere has ended, and what it has cost."""

from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest
from dagster._core.execution.plan.objects import UserFailureData
from dagster._serdes import serialize_value

from lakehouse.engines.submit.remote_jobs import JobCost, JobState, LaunchToken
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.remote.request import StepEnd
from lakehouse.orchestration.remote.watched_job import RemoteStepFailed, RemoteStepLost, WatchedJob


class Jobs:
    """A service with one job, of known cost."""

    def __init__(self, cost: JobCost | None, logs: str = "https://logs") -> None:
        self._cost, self._logs = cost, logs

    def cost(self, job: str) -> JobCost:
        if self._cost is None:
            raise LakehouseError("The service is away.", remedy="wait")
        return self._cost

    def logs(self, job: str) -> str:
        return self._logs


def watched(jobs: Jobs) -> tuple[WatchedJob, list[str]]:
    lines: list[str] = []
    log = SimpleNamespace(info=lines.append, warning=lines.append)
    context: Any = SimpleNamespace(log=log)
    folder: Any = SimpleNamespace(token=LaunchToken("ingest_birds", "run", 1))
    job = WatchedJob(context, jobs, folder)  # type: ignore[arg-type]
    job._note_cost("1")
    return job, lines


def test_what_it_has_used_is_metadata() -> None:
    job, lines = watched(Jobs(JobCost(vcpu_hours=0.5)))
    assert job.metadata == {
        "vCPU hours": dg.FloatMetadataValue(0.5),
        "driver's logs": dg.UrlMetadataValue("https://logs"),
    }
    assert lines == ["the driver ingest_birds/run/1 has used 0.5 vCPU hours"]


def test_a_cost_that_nobody_knows_fails_nothing() -> None:
    job, lines = watched(Jobs(None, logs="/var/log"))
    assert job.metadata == {"driver's logs": dg.TextMetadataValue("/var/log")}
    assert "nobody says what the driver ingest_birds/run/1 has used" in lines[0]
    job.require_success([StepEnd(outcome="success", seconds=1)])


def test_a_driver_that_has_not_said_how_it_ended_was_lost() -> None:
    job, _ = watched(Jobs(JobCost()))
    job._state = JobState("ended", "killed by the system")
    with pytest.raises(RemoteStepLost, match=r"did not say how its step did: killed by the system"):
        job.require_success([])


def test_a_failure_is_that_of_the_step() -> None:
    job, _ = watched(Jobs(JobCost()))
    with pytest.raises(RemoteStepFailed, match="TooMuchQuarantined: 9 of 10 records"):
        job.require_success(
            [StepEnd(outcome="failure", seconds=1, error="TooMuchQuarantined", message="9 of 10 records")]
        )
    shown = serialize_value(UserFailureData(label="x", metadata={"rows": dg.IntMetadataValue(3)}))
    with pytest.raises(dg.Failure, match="9 of 10") as failed:
        job.require_success([StepEnd(outcome="failure", seconds=1, message="9 of 10 records", metadata=shown)])
    assert failed.value.metadata == {"rows": dg.IntMetadataValue(3)}
