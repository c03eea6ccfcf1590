"""`spark-submit` in client mode: the driver is a process of this machine, its executors where the master is."""

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark

from lakehouse.engines.spark.conf import process_conf, workers_python
from lakehouse.engines.spark.properties import properties_file
from lakehouse.engines.submit.driver_job import DriverJob
from lakehouse.settings import Settings

# The driver runs the same assets, and must not submit them again.
_IN_DRIVER = {"LAKEHOUSE__PLATFORM__MODE": "classic"}
_NOT_INHERITED = ("SPARK_CONNECT", "SPARK_REMOTE", "PYSPARK_", "DAGSTER_")


@contextmanager
def submitted(job: DriverJob, settings: Settings, program: Path, environ: Mapping[str, str]) -> Generator[None]:
    """Launch a Python program as a driver.

    The file of Spark's properties, which may hold the cluster's key, is there until the block is left: until the
    program has reported that it is at work, or has ended.

    Args:
        job: its folder.
        settings: platform, JARs and conf; the driver reads them again for itself.
        program: a Python file.
        environ: variables besides those of this process.

    Raises:
        JarMismatch: The JARs are not the locked ones.
    """
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(_NOT_INHERITED)}
    python = workers_python(settings.platform)
    ours = {
        "LAKEHOUSE_CONF": str(settings.conf),
        "LAKEHOUSE_PLATFORM": settings.platform.name,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_PYTHON": python or sys.executable,
        **_IN_DRIVER,
    }
    with properties_file(process_conf(settings), job.folder / "private") as properties:
        command = [str(Path(home) / "bin" / "spark-submit"), "--properties-file", str(properties)]
        job.launch([*command, "--load-spark-defaults", str(program)], {**inherited, **ours, **environ})
        yield
