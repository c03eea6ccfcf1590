"""A standalone master that takes the connection and gives us nothing, named in seconds.

Spark itself asks a master three times, 20 s each, before it says that all are unresponsive. An application without an
executor it lets wait without an end.
"""

import re
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from pyspark import SparkContext
from pyspark.sql import SparkSession

from lakehouse.errors import LakehouseError
from lakehouse.settings import Platform

_LOOK_SECONDS = 0.2
_DRIVER = "spark.driver.host and spark.driver.port of the platform have to be an address of this machine that {} "


class MasterUnreachable(LakehouseError):
    """No standalone master listens there, or none that can reach this driver."""


class NoFreeWorker(LakehouseError):
    """The master has registered us, and no executor has taken a task."""


def is_standalone(platform: Platform) -> bool:
    """Whether the master is one of a standalone cluster."""
    return (platform.master or "").startswith("spark://")


def masters_of(platform: Platform) -> list[tuple[str, int]]:
    """Host and port of each master of `spark://a:7077,b:7077`.

    Raises:
        MasterUnreachable: It is no such address.
    """
    masters = [
        re.fullmatch(r"(.+?):(\d+)", part) for part in (platform.master or "").removeprefix("spark://").split(",")
    ]
    if any(match is None for match in masters):
        raise MasterUnreachable(
            f"Platform {platform.name!r}: its `master` is no address of a standalone master.",
            remedy="write it as spark://host:7077.",
        )
    return [(match[1].strip("[]"), int(match[2])) for match in masters if match is not None]


def require_master(platform: Platform) -> None:
    """Insist that a master listens, before a JVM is started for it.

    Raises:
        MasterUnreachable: None does.
    """
    masters = masters_of(platform)
    for master in masters:
        with suppress(OSError), socket.create_connection(master, timeout=5):
            return
    shown = ", ".join(f"{host}:{port}" for host, port in masters)
    raise MasterUnreachable(
        f"No Spark master listens at {shown}.", remedy="start it, or correct `master` in the platform's file."
    )


@contextmanager
def registered_in_time(platform: Platform, end_driver: Callable[[], object]) -> Generator[None]:
    """End the driver's JVM, and say why, where a master does not register it in time.

    Args:
        platform: with the master.
        end_driver: ends the JVM by force.

    Raises:
        MasterUnreachable: The time is over.
    """
    if not is_standalone(platform):
        yield
        return
    ended = threading.Event()

    def end() -> None:
        ended.set()
        end_driver()

    timer = threading.Timer(platform.register_within_seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        if not ended.is_set():
            raise
        raise MasterUnreachable(
            f"The master {platform.master} took the connection, and did not register this driver within "
            f"{platform.register_within_seconds:.0f} s.",
            remedy=_DRIVER.format("the master reaches")
            + "(through a firewall, too), and `rpc_secret` has to be the cluster's.",
        ) from error
    finally:
        timer.cancel()


def require_executor(session: SparkSession, context: SparkContext, platform: Platform) -> None:
    """Insist that an executor takes a first, empty task.

    Raises:
        NoFreeWorker: None did in time.
    """
    if not is_standalone(platform):
        return
    done = threading.Event()

    def first_task() -> None:
        with suppress(Exception):  # it is cancelled, or what it met the step will meet and say
            session.range(0, 1, 1, 1).collect()
        done.set()

    threading.Thread(target=first_task, name="spark-first-task", daemon=True).start()
    deadline = time.monotonic() + platform.register_within_seconds
    while not done.wait(_LOOK_SECONDS):
        if _task_is_taken(context):
            return
        if time.monotonic() > deadline:
            context.cancelAllJobs()
            conf = platform.conf
            raise NoFreeWorker(
                f"The master {platform.master} registered this driver, and no executor took a task within "
                f"{platform.register_within_seconds:.0f} s.",
                remedy="either no worker has so much free (spark.executor.cores "
                f"{conf.get('spark.executor.cores', 'all')}, spark.executor.memory "
                f"{conf.get('spark.executor.memory', '1g')}): see the master's page; or executors end because they do "
                "not reach the driver: " + _DRIVER.format("workers reach.").strip(),
            )


def _task_is_taken(context: SparkContext) -> bool:
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return any(stage.numActiveTasks + stage.numCompletedTasks > 0 for stage in stages if stage is not None)
