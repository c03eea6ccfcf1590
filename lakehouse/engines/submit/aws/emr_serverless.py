"""Jobs of Amazon EMR Serverless: a job's name is its id."""

import time
from collections.abc import Iterator
from typing import Any

from lakehouse.engines.spark.conf import service_conf
from lakehouse.engines.submit.aws.client import asked, aws_client
from lakehouse.engines.submit.order import driver_arguments
from lakehouse.engines.submit.remote_jobs import JobCost, JobState, LaunchToken
from lakehouse.settings import Settings
from lakehouse.settings.models import EmrServerlessSettings

_ENDED = {"SUCCESS", "FAILED", "CANCELLED"}
_AT_WORK = ["SUBMITTED", "PENDING", "SCHEDULED", "RUNNING", "QUEUED"]
_PYTHON = "./environment/bin/python"
_LONGEST_NAME = 256


class EmrServerlessJobs:
    """Job runs of one application."""

    look_seconds = 5.0

    def __init__(self, settings: Settings, section: EmrServerlessSettings, client: Any = None) -> None:
        """Take the settings.

        Args:
            settings: of the platform.
            section: its `emr_serverless`.
            client: botocore's; else one with the environment's own identity.

        Raises:
            AwsRefused: there can be no client.
        """
        self._settings = settings
        self._section = section
        self._client = client or aws_client("emr-serverless", section.region)

    def find(self, token: LaunchToken) -> str | None:
        """The newest job run of this token's name."""
        return next((run["id"] for run in self._runs() if run.get("name") == _name(token)), None)

    def start(self, token: LaunchToken, folder: str) -> str:
        """Start a job run. The client token is the attempt's: the service gives one job for all who send it."""
        section = self._section
        conf = {
            **_python_of_the_archive(),
            **service_conf(self._settings, section.archive),
        }
        overrides: dict[str, Any] = {
            "applicationConfiguration": [{"classification": "spark-defaults", "properties": conf}]
        }
        if section.log_location is not None:
            overrides["monitoringConfiguration"] = {"s3MonitoringConfiguration": {"logUri": section.log_location}}
        arguments = driver_arguments(self._settings, section, folder)
        started = asked(
            self._client.start_job_run,
            applicationId=section.application,
            clientToken=f"lakehouse-{token.digest}",
            executionRoleArn=section.role,
            name=_name(token),
            jobDriver={
                "sparkSubmit": {
                    "entryPoint": section.program,
                    "entryPointArguments": [word for pair in arguments.items() for word in pair],
                }
            },
            configurationOverrides=overrides,
            executionTimeoutMinutes=section.timeout_minutes,
            tags={"lakehouse:step": token.step, "lakehouse:execution": token.execution},
        )
        return str(started["jobRunId"])

    def state(self, job: str) -> JobState:
        """As the service has it."""
        run = self._run(job)
        state, details = run["state"], run.get("stateDetails") or ""
        phase = "ended" if state in _ENDED else "running" if state in ("RUNNING", "CANCELLING") else "waiting"
        return JobState(phase, f"{state}: {details}".removesuffix(": "))

    def cancel(self, job: str) -> None:
        """Cancel it, unless it has ended."""
        if self.state(job).phase == "ended":
            return
        asked(self._client.cancel_job_run, applicationId=self._section.application, jobRunId=job)
        deadline = time.monotonic() + self._settings.platform.stop_timeout_seconds
        while self.state(job).phase != "ended" and time.monotonic() < deadline:
            time.sleep(self.look_seconds / 5)

    def cost(self, job: str) -> JobCost:
        """What is billed, or else what was used; the service says it some seconds after the end."""
        run = self._run(job)
        used = run.get("billedResourceUtilization") or run.get("totalResourceUtilization") or {}
        return JobCost(vcpu_hours=used.get("vCPUHour"), memory_gb_hours=used.get("memoryGBHour"))

    def logs(self, job: str) -> str:
        """The platform's own address, or the folder of S3, or the console."""
        section = self._section
        if section.logs is not None:
            return section.logs.replace("{job}", job)
        if section.log_location is not None:
            location = section.log_location.rstrip("/")
            return f"{location}/applications/{section.application}/jobs/{job}/SPARK_DRIVER/"
        return f"EMR Serverless, application {section.application}, job run {job}"

    def at_work(self, step: str) -> Iterator[tuple[LaunchToken, str]]:
        """Job runs of a step that wait or run."""
        for run in self._runs(states=_AT_WORK):
            token = LaunchToken.parse(run.get("name") or "")
            if token is not None and token.step == step:
                yield token, run["id"]

    def _run(self, job: str) -> dict[str, Any]:
        return asked(self._client.get_job_run, applicationId=self._section.application, jobRunId=job)["jobRun"]

    def _runs(self, **chosen: Any) -> Iterator[dict[str, Any]]:
        following: dict[str, str] = {}
        while True:
            page = asked(self._client.list_job_runs, applicationId=self._section.application, **chosen, **following)
            yield from page.get("jobRuns", [])
            if not page.get("nextToken"):
                return
            following = {"nextToken": page["nextToken"]}


def _name(token: LaunchToken) -> str:
    return str(token)[:_LONGEST_NAME]


def _python_of_the_archive() -> dict[str, str]:
    """Driver and executors run the Python that the packed environment brings."""
    return {
        "spark.emr-serverless.driverEnv.PYSPARK_DRIVER_PYTHON": _PYTHON,
        "spark.emr-serverless.driverEnv.PYSPARK_PYTHON": _PYTHON,
        "spark.executorEnv.PYSPARK_PYTHON": _PYTHON,
    }
