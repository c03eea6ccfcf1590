"""A Spark Connect server that lives long: whatever ran on it, neither its memory nor the processes below it grow."""

import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import psutil
import pytest

from lakehouse.engines.spark import ConnectServer, spark_session
from lakehouse.settings import CatalogSettings, Settings
from lakehouse_tests.steps.ingest.conftest import Landing, MakeLanding, thing

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

RUNS = [4, pytest.param(1000, marks=pytest.mark.timeout(4 * 3600))]
WIDE = "x" * 1000
MIB = 1 << 20


@dataclass(frozen=True)
class Server:
    """What a Connect server uses."""

    pid: int

    def daemons(self) -> list[psutil.Process]:
        """The processes that fork its Python workers."""
        children = psutil.Process(self.pid).children()
        return [process for process in children if "lakehouse.engines.worker_daemon" in _command(process)]

    def threads(self) -> int:
        """Threads of the JVM that watch over daemons."""
        return self._jcmd("Thread.print").count("Idle Worker Monitor")

    def objects(self) -> dict[str, tuple[int, int]]:
        """Class -> number and bytes of its objects that are still referred to."""
        rows = re.findall(r"^ *\d+: +(\d+) +(\d+) +(\S+)", self._jcmd("GC.class_histogram"), re.MULTILINE)
        return {name: (int(number), int(size)) for number, size, name in rows}

    def heap(self) -> int:
        """Bytes of all objects that are still referred to."""
        return sum(size for _, size in self.objects().values())

    def rss(self) -> int:
        """Bytes of memory, of the JVM and of all below it."""
        server = psutil.Process(self.pid)
        return sum(_resident(process) for process in [server, *server.children(recursive=True)])

    def _jcmd(self, command: str) -> str:
        return subprocess.run(["jcmd", str(self.pid), command], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def server(connect_settings: Settings) -> Server:
    pid = ConnectServer(connect_settings).pid
    assert pid is not None
    return Server(pid)


@pytest.fixture
def on_connect(landing: MakeLanding, connect_settings: Settings) -> Callable[..., Landing]:
    """A stream whose steps run on the server."""

    def open_on(catalog: CatalogSettings):
        return spark_session(connect_settings.model_copy(update={"catalog": catalog}), app_name="long-lived")

    return lambda **more: replace(landing(**more), spark_on=open_on)


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # it has ended, and nobody has asked how
        return ""


def until(true: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def _consumers(server: Server) -> int:
    return server.objects().get("org.apache.kafka.clients.consumer.KafkaConsumer", (0, 0))[0]


@pytest.mark.soak
@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("way", ["catch-up", "trickle"])
def test_ingests_leave_nothing_behind(on_connect: Callable[..., Landing], server: Server, way: str, runs: int) -> None:
    stream = on_connect(partitions=2)
    each = 100 if runs > 4 else 2_000
    if way == "catch-up":  # what waits is more than a run takes: so consumers read far ahead
        for partition in (0, 1):
            stream.send((thing(n, text=WIDE) for n in range(each * (runs + 1) // 2)), partition=partition)
    heaps: list[int] = []
    for number in range(runs + 1):
        if way == "trickle":
            stream.send([thing(number)], partition=number % 2)
        assert stream.ingest(run_id=f"run-{number}", max_records_per_run=each).published is not None
        if number % max(1, runs // 8) == 0:
            until(lambda: _consumers(server) == 0)
            heaps.append(server.heap())
            print(
                f"{way} {number}: heap {heaps[-1] / MIB:.0f} MiB, RSS {server.rss() / MIB:.0f} MiB, "
                f"{len(server.daemons())} daemons, {server.threads()} watched"
            )
    assert len(server.daemons()) == 1
    assert server.threads() == 1
    assert heaps[-1] - min(heaps[1:]) < 24 * MIB, [heap // MIB for heap in heaps]


@pytest.mark.soak
def test_a_daemon_that_has_ended_is_no_failure_of_the_next_step(
    on_connect: Callable[..., Landing], server: Server
) -> None:
    stream = on_connect()
    stream.send([thing(1)])
    stream.ingest(run_id="before")
    (daemon,) = server.daemons()
    daemon.terminate()
    psutil.wait_procs([daemon], 30)
    stream.send([thing(2)])
    stream.ingest(run_id="after")
    assert stream.column("raw.things", "id") == [1, 2]
    assert [process.pid for process in server.daemons()] != [daemon.pid]
