"""`spark-submit` in client mode: the driver is a process of this machine, its executors where the master is."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark

import lakehouse
from lakehouse.engines.spark.conf import process_conf, workers_python
from lakehouse.engines.spark.driver import last_words
from lakehouse.engines.spark.properties import properties_file
from lakehouse.engines.submit.driver_job import DriverJob
from lakehouse.engines.submit.job_folder import base_location, folder_at
from lakehouse.engines.submit.order import FOLDER
from lakehouse.engines.submit.remote_jobs import JobCost, JobState, LaunchToken
from lakehouse.settings import Settings

PROGRAM = Path(lakehouse.__file__).parent / "remote_step" / "__main__.py"
# The driver runs the same assets, and must not submit them again.
_IN_DRIVER = {"LAKEHOUSE__PLATFORM__MODE": "classic"}
_NOT_INHERITED = ("SPARK_CONNECT", "SPARK_REMOTE", "PYSPARK_", "DAGSTER_")


class SparkSubmitJobs:
    """Drivers of this machine. A job's name is its folder."""

    look_seconds = 0.2

    def __init__(self, settings: Settings) -> None:
        """Take platform, JARs and conf; the driver reads them again for itself."""
        self._settings = settings
        self._base = Path(base_location(settings))

    def find(self, token: LaunchToken) -> str | None:
        """The driver of this token, if it was ever launched."""
        job = DriverJob(self._base / str(token))
        return str(job.folder) if job.launched else None

    def start(self, token: LaunchToken, folder: str) -> str:  # noqa: ARG002 - the folder is named by it
        """Launch it, and wait until it has reported that it is at work, or has ended.

        The file of Spark's properties, which may hold the cluster's key, is there until then, and no longer.

        Raises:
            JarMismatch: The JARs are not the locked ones.
        """
        settings, job = self._settings, DriverJob(Path(folder))
        home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(_NOT_INHERITED)}
        ours = {
            "LAKEHOUSE_CONF": str(settings.conf),
            "LAKEHOUSE_PLATFORM": settings.platform.name,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYSPARK_PYTHON": workers_python(settings.platform) or sys.executable,
            **_IN_DRIVER,
        }
        with properties_file(process_conf(settings), job.folder / "private") as properties:
            submit = [str(Path(home) / "bin" / "spark-submit"), "--properties-file", str(properties)]
            job.launch([*submit, "--load-spark-defaults", str(PROGRAM), FOLDER, folder], {**inherited, **ours})
            reports = folder_at(settings, folder)
            while job.running() and reports.chunk(1) is None:
                time.sleep(self.look_seconds)
        return folder

    def state(self, job: str) -> JobState:
        """At work, or ended with its last words."""
        driver = DriverJob(Path(job))
        return JobState("running") if driver.running() else JobState("ended", last_words(driver.log))

    def cancel(self, job: str) -> None:
        """End it, and what it has started."""
        DriverJob(Path(job)).end(patience=self._settings.platform.stop_timeout_seconds)

    def cost(self, job: str) -> JobCost:  # noqa: ARG002 - of the protocol
        """A standalone cluster measures none."""
        return JobCost()

    def logs(self, job: str) -> str:
        """The file that it prints to."""
        return str(DriverJob(Path(job)).log)

    def at_work(self, step: str) -> Iterator[tuple[LaunchToken, str]]:
        """Drivers of a step that are alive."""
        for pid_file in sorted((self._base / step).glob("*/*/driver.pid")):
            token = LaunchToken.parse("/".join(pid_file.parts[-4:-1]))
            if token is not None and DriverJob(pid_file.parent).running():
                yield token, str(pid_file.parent)
