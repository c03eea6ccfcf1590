"""Classic Spark's JVM: one of our own for each driver, gone when the driver is.

PySpark keeps its JVM until Python ends, so that a second context silently runs with the first one's memory and class
path. Here the JVM ends with the context: nothing is left running, and the next one gets what its settings say.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, cast

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from typing_extensions import override

from lakehouse.engines.spark.conf import is_local, process_conf, scratch_folder, workers_python
from lakehouse.engines.spark.interrupts import cancelled_by_signals
from lakehouse.engines.spark.jvm_names import remember_names
from lakehouse.engines.spark.properties import properties_file
from lakehouse.engines.spark.registration import (
    is_standalone,
    registered_in_time,
    require_executor,
    require_master,
)
from lakehouse.engines.spark.texts import keep_texts
from lakehouse.errors import LakehouseError
from lakehouse.settings import Settings
from lakehouse.settings.state import make_private


class SparkDidNotStart(LakehouseError):
    """The JVM ended, or never came up."""


@contextmanager
def new_driver(settings: Settings, *, app_name: str) -> Generator[SparkSession]:
    """Start a JVM and a Spark context in it; end both, by force if it takes longer than the platform allows.

    Raises:
        SparkDidNotStart: The JVM did not come up.
        MasterUnreachable: No standalone master listens, or it does not register the driver in time.
        NoFreeWorker: It did, and no executor took a task in time.
        JarMismatch: The JARs are not the locked ones.
    """
    platform, patience = settings.platform, settings.platform.stop_timeout_seconds
    if is_standalone(platform):
        require_master(platform)
    with _environment(_python(settings)), ExitStack() as undo:
        gateway = _launch(settings)
        undo.callback(_end_process, gateway, patience)
        remember_names(gateway)
        with _signal_handlers_kept(), registered_in_time(platform, partial(_end_by_force, gateway)):
            context = SparkContext(conf=SparkConf().setAppName(app_name), gateway=gateway)
        session = SparkSession(context)
        undo.callback(_stop, session, gateway, patience)
        with cancelled_by_signals(context.cancelAllJobs):
            require_executor(session, context, platform)
            try:
                yield session
            except Exception as error:
                keep_texts(error)
                raise


def _launch(settings: Settings) -> JavaGateway:
    if settings.platform.mode == "driver":
        if "PYSPARK_GATEWAY_PORT" not in os.environ:
            raise SparkDidNotStart(
                f"Platform {settings.platform.name!r}: mode driver is for a process that spark-submit has started.",
                remedy="choose another mode, or have spark-submit run this program.",
            )
        return launch_gateway()  # to the JVM that is there
    log = settings.state.logs / "spark.log"
    with properties_file(process_conf(settings), scratch_folder(settings)) as properties, ExitStack() as stack:
        arguments = f"--properties-file '{properties}' --load-spark-defaults pyspark-shell"
        streams: dict[str, object] = {}
        if is_local(settings.platform):  # elsewhere the platform collects what the driver prints
            make_private(log.parent)
            stream = stack.enter_context(log.open("ab"))
            streams = {"stdout": stream, "stderr": stream}
        stack.enter_context(_environment({"PYSPARK_SUBMIT_ARGS": arguments}))
        try:
            with _ended_if_interrupted():
                return launch_gateway(popen_kwargs=streams)
        except PySparkRuntimeError as error:
            raise SparkDidNotStart(
                f"Spark's JVM ended right after its start: {last_words(log) if streams else error}",
                remedy="install `openjdk-17-jdk-headless` if there is no Java 17; otherwise see the log.",
            ) from error


@contextmanager
def _ended_if_interrupted() -> Generator[None]:
    """End the JVM that PySpark begins, where its start does not come to an end.

    PySpark takes the folder away that the JVM wants to write its port to. The JVM fails at that, but a thread of Py4J's
    keeps it for ever, and it is not yet where it would see that its pipe is closed. PySpark tells its process to nobody
    before the start is done, so we look at what it begins.
    """
    begun: list[subprocess.Popen[bytes]] = []

    class _Remembered(subprocess.Popen[bytes]):
        @override
        def __init__(self, *arguments: Any, **options: Any) -> None:
            begun.append(self)  # before there is a process: the interrupt may come in between
            super().__init__(*arguments, **options)

    former = java_gateway.Popen  # pyright: ignore[reportPrivateImportUsage]
    java_gateway.Popen = _Remembered  # pyright: ignore[reportPrivateImportUsage]
    try:
        yield
    except BaseException:
        for process in begun:
            if hasattr(process, "pid"):
                _kill(process)
        raise
    finally:
        java_gateway.Popen = former  # pyright: ignore[reportPrivateImportUsage]


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def last_words(log: Path) -> str:
    """The last lines of a log, in one."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
    return " | ".join(lines[-3:]) or "it printed nothing"


def _python(settings: Settings) -> dict[str, str]:
    """The Python of local workers is this one; on a cluster it is the platform's affair."""
    if (python := workers_python(settings.platform)) is not None:
        return {"PYSPARK_PYTHON": python}
    is_set = "PYSPARK_PYTHON" in os.environ or not is_local(settings.platform)
    return {} if is_set else {"PYSPARK_PYTHON": sys.executable}


@contextmanager
def _environment(values: dict[str, str]) -> Generator[None]:
    former = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in former.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _signal_handlers_kept() -> Generator[None]:
    """A new context takes SIGINT for itself and never gives it back, which would lose Dagster's own handler."""
    former = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, former)


def _stop(session: SparkSession, gateway: JavaGateway, patience: float) -> None:
    """Stop the context, from another thread: this one's connection is of no use if a call on it was interrupted."""
    process = _process(gateway)
    if process is None or process.poll() is None:
        stopping = threading.Thread(target=session.stop, name="spark-stop", daemon=True)
        stopping.start()
        stopping.join(patience)


def _end_process(gateway: JavaGateway, patience: float) -> None:
    # PySpark has no public way to forget its JVM. It must, also where the context died or did not stop in time.
    SparkContext._active_spark_context = None  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    SparkContext._gateway = None  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    SparkContext._jvm = None  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    SparkSession._instantiatedSession = None  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    process = _process(gateway)
    if process is None:  # started by `spark-submit`, which ends it too
        return
    if process.stdin is not None:
        process.stdin.close()  # the JVM lives as long as this pipe
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    gateway.close()


def _end_by_force(gateway: JavaGateway) -> None:
    process = _process(gateway)
    if process is not None:
        process.kill()


def _process(gateway: JavaGateway) -> subprocess.Popen[bytes] | None:
    return cast("subprocess.Popen[bytes] | None", getattr(gateway, "proc", None))
