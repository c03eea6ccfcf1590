"""Runs of an AWS Glue job: a job's name is the run's id.

Glue knows no client token. A run says by an argument whose it is, and is looked for before another is started; two
processes that start the same attempt in the same second can start two. Only one of them publishes: the fence sees to
that.
"""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from lakehouse.engines.spark.conf import service_conf
from lakehouse.engines.submit.aws.client import asked, aws_client
from lakehouse.engines.submit.order import driver_arguments
from lakehouse.engines.submit.remote_jobs import JobCost, JobState, LaunchToken
from lakehouse.settings import Settings
from lakehouse.settings.models import GlueSettings

TOKEN = "--lakehouse-token"  # noqa: S105 - the name of an argument
_ENDED = {"STOPPED", "SUCCEEDED", "FAILED", "TIMEOUT", "ERROR", "EXPIRED"}
_DPUS = {"G.1X": 1, "G.2X": 2, "G.4X": 4, "G.8X": 8}
_SECONDS_PER_HOUR = 3600


class GlueJobs:
    """Runs of one job."""

    look_seconds = 5.0

    def __init__(self, settings: Settings, section: GlueSettings, client: Any = None) -> None:
        """Take the settings.

        Args:
            settings: of the platform.
            section: its `glue`.
            client: botocore's; else one with the environment's own identity.

        Raises:
            AwsRefused: there can be no client.
        """
        self._settings = settings
        self._section = section
        self._client = client or aws_client("glue", section.region)

    def find(self, token: LaunchToken) -> str | None:
        """The newest run that says it is of this token."""
        return next((run["Id"] for run in self._runs() if _token_of(run) == str(token)), None)

    def start(self, token: LaunchToken, folder: str) -> str:
        """Start a run of the job, unless one of this token is there."""
        if (present := self.find(token)) is not None:
            return present
        section = self._section
        conf = service_conf(self._settings)
        started = asked(
            self._client.start_job_run,
            JobName=section.job,
            Arguments={
                TOKEN: str(token),
                **driver_arguments(self._settings, section, folder),
                # One argument of Glue holds all properties, with the option's own name between them.
                "--conf": " --conf ".join(f"{key}={value}" for key, value in sorted(conf.items())),
            },
            WorkerType=section.worker_type,
            NumberOfWorkers=section.number_of_workers,
            Timeout=section.timeout_minutes,
            ExecutionClass=section.execution_class,
        )
        return str(started["JobRunId"])

    def state(self, job: str) -> JobState:
        """As the service has it."""
        run = self._run(job)
        state, message = run["JobRunState"], run.get("ErrorMessage") or ""
        phase = "ended" if state in _ENDED else "running" if state in ("RUNNING", "STOPPING") else "waiting"
        return JobState(phase, f"{state}: {message}".removesuffix(": "))

    def cancel(self, job: str) -> None:
        """Stop it, unless it has ended."""
        if self.state(job).phase == "ended":
            return
        asked(self._client.batch_stop_job_run, JobName=self._section.job, JobRunIds=[job])
        deadline = time.monotonic() + self._settings.platform.stop_timeout_seconds
        while self.state(job).phase != "ended" and time.monotonic() < deadline:
            time.sleep(self.look_seconds / 5)

    def cost(self, job: str) -> JobCost:
        """DPU seconds where Glue measures them (FLEX, auto scaling); else its workers for as long as it ran."""
        run = self._run(job)
        seconds = run.get("DPUSeconds")
        if seconds is None:
            worker = _DPUS.get(run.get("WorkerType") or self._section.worker_type, 1)
            workers = run.get("NumberOfWorkers") or self._section.number_of_workers
            seconds = run.get("ExecutionTime", 0) * workers * worker
        return JobCost(dpu_hours=seconds / _SECONDS_PER_HOUR)

    def logs(self, job: str) -> str:
        """The platform's own address, or CloudWatch's."""
        if self._section.logs is not None:
            return self._section.logs.replace("{job}", job)
        region = self._client.meta.region_name
        group = quote(quote("/aws-glue/jobs/output", safe=""), safe="").replace("%", "$")
        page = f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}"
        return f"{page}#logsV2:log-groups/log-group/{group}/log-events/{quote(job, safe='')}"

    def at_work(self, step: str) -> Iterator[tuple[LaunchToken, str]]:
        """Runs of a step that wait or run."""
        for run in self._runs():
            token = LaunchToken.parse(_token_of(run))
            if token is not None and token.step == step and run["JobRunState"] not in _ENDED:
                yield token, run["Id"]

    def _run(self, job: str) -> dict[str, Any]:
        return asked(self._client.get_job_run, JobName=self._section.job, RunId=job)["JobRun"]

    def _runs(self) -> Iterator[dict[str, Any]]:
        following: dict[str, str] = {}
        while True:
            page = asked(self._client.get_job_runs, JobName=self._section.job, **following)
            yield from page.get("JobRuns", [])
            if not page.get("NextToken"):
                return
            following = {"NextToken": page["NextToken"]}


def _token_of(run: dict[str, Any]) -> str:
    return (run.get("Arguments") or {}).get(TOKEN, "")
