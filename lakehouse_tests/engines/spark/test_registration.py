"""A master that gives us nothing is named in seconds, with what to look at."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from lakehouse.engines.spark import MasterUnreachable, NoFreeWorker
from lakehouse.engines.spark.registration import masters_of, registered_in_time, require_executor, require_master
from lakehouse.settings import Platform
from lakehouse_tests.fixtures.spark import free_port


def standalone(port: int = 7077, seconds: float = 30, **conf: str) -> Platform:
    """A platform whose master is on this machine."""
    return Platform(
        name="standalone",
        mode="classic",
        master=f"spark://127.0.0.1:{port}",
        register_within_seconds=seconds,
        conf=conf,
    )


def test_each_master_of_a_list_is_known() -> None:
    platform = standalone().model_copy(update={"master": "spark://a.example:7077,[::1]:7078"})
    assert masters_of(platform) == [("a.example", 7077), ("::1", 7078)]
    with pytest.raises(MasterUnreachable, match="no address of a standalone master"):
        masters_of(standalone().model_copy(update={"master": "spark://a.example"}))


def test_a_master_that_nobody_has_started_is_named_before_a_jvm_starts() -> None:
    port = free_port()
    with pytest.raises(MasterUnreachable, match=f"No Spark master listens at 127.0.0.1:{port}"):
        require_master(standalone(port))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        require_master(standalone(listening.getsockname()[1]))


@pytest.fixture
def driver() -> Iterator[subprocess.Popen[bytes]]:
    """What stands for a JVM that waits for its master."""
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_a_master_that_never_registers_the_driver_is_named_and_the_jvm_ended(driver: subprocess.Popen[bytes]) -> None:
    unheard = pytest.raises(MasterUnreachable, match="did not register this driver within 0 s")
    with unheard as caught, registered_in_time(standalone(seconds=0.05), driver.kill):
        driver.wait(10)
        raise ConnectionError("Answer from Java side is empty")
    assert "spark.driver.host" in caught.value.remedy
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert Platform(name="p", mode="classic", master="spark://h:1").register_within_seconds == 30


def test_another_error_in_time_stays_what_it_is(driver: subprocess.Popen[bytes]) -> None:
    with pytest.raises(ConnectionError), registered_in_time(standalone(), driver.kill):
        raise ConnectionError
    assert driver.poll() is None


class _Cluster:
    """A session and its context on a cluster where tasks are taken, or are not."""

    def __init__(self, active: int) -> None:
        self._active = active
        self.cancelled = threading.Event()

    def range(self, *_: int) -> Any:
        """A frame whose rows come when the job is cancelled."""
        return SimpleNamespace(collect=self.cancelled.wait)

    def cancelAllJobs(self) -> None:  # noqa: N802
        """As Spark's own."""
        self.cancelled.set()

    def statusTracker(self) -> Any:  # noqa: N802
        """As Spark's own."""
        info = SimpleNamespace(numActiveTasks=self._active, numCompletedTasks=0)
        return SimpleNamespace(getActiveStageIds=lambda: [0], getStageInfo=lambda _: info)


def test_a_cluster_without_a_free_worker_is_named_and_the_job_cancelled() -> None:
    cluster: Any = _Cluster(active=0)
    platform = standalone(seconds=0.1, **{"spark.executor.memory": "900g"})
    with pytest.raises(NoFreeWorker, match="no executor took a task") as caught:
        require_executor(cluster, cluster, platform)
    assert "spark.executor.memory 900g" in caught.value.remedy
    assert cluster.cancelled.is_set()


def test_a_task_that_is_at_work_is_waited_for_by_nobody() -> None:
    cluster: Any = _Cluster(active=1)
    require_executor(cluster, cluster, standalone(seconds=0.1))
    assert not cluster.cancelled.is_set()
    cluster.cancelAllJobs()
