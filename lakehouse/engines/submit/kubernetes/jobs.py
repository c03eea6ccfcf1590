"""Jobs of Apache's operator: a job's name is that of its SparkApplication."""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyspark

from lakehouse.engines.spark.conf import service_conf
from lakehouse.engines.submit.kubernetes.access import cluster_access
from lakehouse.engines.submit.kubernetes.api import AlreadyThere, KubernetesApi
from lakehouse.engines.submit.kubernetes.pods import requested_hours
from lakehouse.engines.submit.kubernetes.spark_application import (
    API,
    EXECUTION,
    STEP,
    TOKEN,
    TRY,
    label_of,
    name_of,
    spark_application,
)
from lakehouse.engines.submit.order import driver_arguments
from lakehouse.engines.submit.remote_jobs import JobCost, JobState, LaunchToken
from lakehouse.settings import Settings
from lakehouse.settings.models import KubernetesSettings

_PODS = "api/v1/pods"
# What the operator calls an attempt that does nothing any more.
_ENDED = {
    "Succeeded",
    "Failed",
    "DriverEvicted",
    "DriverStartTimedOut",
    "DriverReadyTimedOut",
    "ExecutorsStartTimedOut",
    "SchedulingFailure",
    "ResourceReleased",
    "TerminatedWithoutReleaseResources",
}
_WAITING = {"", "Submitted", "ScheduledToRestart", "DriverRequested"}
_LAST_LINES = 3


class KubernetesJobs:
    """SparkApplications of one namespace."""

    look_seconds = 2.0

    def __init__(self, settings: Settings, section: KubernetesSettings, api: KubernetesApi | None = None) -> None:
        """Take the settings.

        Args:
            settings: of the platform.
            section: its `kubernetes`.
            api: of the cluster; else the one that the kubeconfig or this pod names.
        """
        self._settings = settings
        self._section = section
        self._api = api or KubernetesApi(cluster_access(section.context), section.namespace)

    def find(self, token: LaunchToken) -> str | None:
        """The application of this token's name."""
        name = name_of(token)
        return name if self._api.get(API, name) is not None else None

    def start(self, token: LaunchToken, folder: str) -> str:
        """Make the application; one that is there is this token's."""
        arguments = driver_arguments(self._settings, self._section, folder)
        conf = service_conf(self._settings)
        with suppress(AlreadyThere):
            self._api.create(API, spark_application(self._section, token, arguments, conf, pyspark.__version__))
        return name_of(token)

    def state(self, job: str) -> JobState:
        """As the operator has noted it; of one that has ended with the driver's last words."""
        application = self._api.get(API, job)
        if application is None:
            return JobState("ended", "its SparkApplication was deleted")
        summary, message = _current(application)
        if summary in _ENDED:
            return JobState("ended", " | ".join(filter(None, [_outcome(application), message, self._last_words(job)])))
        return JobState("waiting" if summary in _WAITING else "running", f"{summary} {message}".strip())

    def cancel(self, job: str) -> None:
        """Delete the application: the operator ends its pods before it lets it go."""
        self._api.delete(API, job)
        deadline = time.monotonic() + self._settings.platform.stop_timeout_seconds
        while self._api.get(API, job) is not None and time.monotonic() < deadline:
            time.sleep(self.look_seconds / 4)

    def cost(self, job: str) -> JobCost:
        """What its pods have asked for, for as long as they ran. What nodes cost beyond that nobody knows here."""
        cpu, memory = requested_hours(self._pods(job), time.time())
        return JobCost(vcpu_hours=cpu, memory_gb_hours=memory)

    def logs(self, job: str) -> str:
        """The platform's own address, or the command that shows them."""
        if self._section.logs is not None:
            return self._section.logs.replace("{job}", job)
        return f"kubectl logs -n {self._section.namespace} -l spark-role=driver,{TOKEN}={job.rpartition('-')[2]}"

    def at_work(self, step: str) -> Iterator[tuple[LaunchToken, str]]:
        """Applications of a step that have not ended."""
        listed = self._api.get(API, labelSelector=f"{STEP}={label_of(step)}") or {}
        for application in listed.get("items", []):
            labels = application["metadata"].get("labels", {})
            number = labels.get(TRY, "")
            if _current(application)[0] not in _ENDED and number.isdigit():
                yield LaunchToken(step, labels.get(EXECUTION, ""), int(number)), application["metadata"]["name"]

    def _pods(self, job: str) -> list[dict[str, Any]]:
        listed = self._api.get(_PODS, labelSelector=f"{TOKEN}={job.rpartition('-')[2]}") or {}
        return listed.get("items", [])

    def _last_words(self, job: str) -> str:
        for pod in self._pods(job):
            if pod["metadata"].get("labels", {}).get("spark-role") == "driver":
                return " | ".join(self._api.log(pod["metadata"]["name"], _LAST_LINES).splitlines())
        return ""


def _current(application: dict[str, Any]) -> tuple[str, str]:
    current = (application.get("status") or {}).get("currentState") or {}
    return current.get("currentStateSummary") or "", current.get("message") or ""


def _outcome(application: dict[str, Any]) -> str:
    """The last state that says how it ended: releasing its pods says nothing of that."""
    history = (application.get("status") or {}).get("stateTransitionHistory") or {}
    states = [history[number].get("currentStateSummary", "") for number in sorted(history, key=int)]
    telling = [state for state in states if state in _ENDED and "Resource" not in state]
    return telling[-1] if telling else _current(application)[0]
