"""A Spark session for one step, classic or Connect: opened, configured, interruptible, and gone afterwards."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from lakehouse.engines.spark.conf import fixed_conf, is_local, session_conf
from lakehouse.engines.spark.connect.client import connect_session
from lakehouse.engines.spark.connect.given_server import is_given, require_fit
from lakehouse.engines.spark.driver import new_driver
from lakehouse.engines.spark.interrupts import interrupts_unmasked
from lakehouse.engines.spark.worker_environment import require_same_workers
from lakehouse.errors import LakehouseError
from lakehouse.settings import Platform, Settings

# Where PySpark makes an error it also writes it to stderr, values of the data included. What of an error may be told is
# for those to say who catch it.
for _duplicate_logger in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
    PySparkLogger.getLogger(_duplicate_logger).disabled = True


class DriverMismatch(LakehouseError):
    """A driver runs in this process that was started for another platform."""


@dataclass(frozen=True)
class _Running:
    session: SparkSession
    platform: object


_running: list[_Running] = []  # a process has at most one driver
_fit: set[object] = set()  # platforms elsewhere whose server and workers this process has looked at


@contextmanager
def spark_session(settings: Settings, *, app_name: str) -> Generator[SparkSession]:
    """Open a session with the catalog `lake`, and close it.

    While a classic session is open in this process, others are sessions in the same driver: configuration, catalog and
    temporary views of their own, but no second JVM.

    Args:
        settings: Where Spark runs and where tables live.
        app_name: What the platform shows.

    Raises:
        SparkDidNotStart: The JVM did not come up.
        SparkUnreachable: Nobody answers where the Connect server should be.
        DriverMismatch: This process has a driver of another platform.
        MasterUnreachable: No standalone master listens, or it does not register the driver in time.
        NoFreeWorker: It did, and no executor took a task in time.
        ServerUnfit: A given Connect server lacks what only its start can set.
        WorkersDiffer: Workers on other machines have another Python, other packages or other code.
        JarMismatch: The JARs are not the locked ones.
    """
    opened = connect_session(settings) if settings.platform.mode == "connect" else _classic(settings, app_name)
    with opened as session, interrupts_unmasked():
        for key, value in session_conf(settings).items():
            session.conf.set(key, value)
        _require_fit(session, settings.platform)
        yield session


def _require_fit(session: SparkSession, platform: Platform) -> None:
    """Look once at what somebody else has set up: a given server, the Python of workers on other machines."""
    identity = (platform.name, platform.mode, platform.remote, platform.master)
    if not (is_given(platform) or not is_local(platform)) or identity in _fit:
        return
    if is_given(platform):
        require_fit(session, platform, fixed_conf(platform))
    if platform.mode == "driver":  # its conf was given to the service, which may change it
        require_fit(session, platform, {})
    require_same_workers(session)
    _fit.add(identity)


@contextmanager
def _classic(settings: Settings, app_name: str) -> Generator[SparkSession]:
    platform = _identity(settings)
    if _running:
        if _running[0].platform != platform:
            raise DriverMismatch(
                f"The Spark driver of this process was started for another platform than {settings.platform.name!r}.",
                remedy="close that session first, or use a platform of mode connect.",
            )
        yield _running[0].session.newSession()
        return
    with new_driver(settings, app_name=app_name) as driver:
        _running.append(_Running(driver, platform))
        try:
            yield driver  # those made from it start from the process's configuration: they inherit no catalog
        finally:
            _running.clear()


def _identity(settings: Settings) -> object:
    """What cannot be changed in a running driver."""
    platform = settings.platform
    fixed = {key: value for key, value in platform.conf.items() if not key.startswith("spark.sql.")}
    return platform.master, platform.workers, fixed
