"""A server that dies while `lakehouse dev` runs is started again, and both the terminal and a check tell of it."""

import io
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest
from rich.console import Console

from lakehouse.cli.context import Context
from lakehouse.cli.processes.run_context import BROKER, SPARK_CONNECT
from lakehouse.cli.processes.server_events import supervised
from lakehouse.cli.processes.supervision import ASK_EVERY, MOST_UNANSWERED, STEADY, Supervised
from lakehouse.engines.background_process import Daemon
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.checks.spark_server import NAME, server_key


class PortTaken(LakehouseError):
    """The server cannot be started."""


@dataclass
class Sleeper:
    """A server whose process is real; it answers while that is not stopped."""

    daemon: Daemon
    trouble: str = ""

    def running(self) -> bool:
        return self.daemon.pid() is not None

    def answers(self, timeout: float) -> bool:
        pid = self.daemon.pid()
        return pid is not None and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T"

    def start(self) -> bool:
        if self.trouble:
            raise PortTaken(self.trouble)
        self.daemon.start([sys.executable, "-c", "import time; time.sleep(600)"], os.environ)
        return True

    def stop(self) -> bool:
        return self.daemon.stop(patience=5)

    def die(self) -> None:
        pid = self.daemon.pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        while self.running():
            pass


@dataclass
class Watched:
    """A supervised server with a clock of its own."""

    server: Sleeper
    now: float = 0.0
    messages: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])

    def __post_init__(self) -> None:
        self.supervised = Supervised(
            "server", self.server, lambda *message: self.messages.append(message), lambda: self.now
        )

    def look(self, now: float) -> list[str]:
        self.now = now
        self.messages.clear()
        self.supervised.look()
        return [sentence for sentence, _ in self.messages]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sleeper]:
    sleeper = Sleeper(Daemon(tmp_path / "it.pid", tmp_path / "it.log"))
    sleeper.start()
    yield sleeper
    sleeper.stop()


def test_a_server_that_died_is_started_again_at_once(server: Sleeper) -> None:
    watched = Watched(server)
    assert watched.look(1) == []
    server.die()
    assert watched.look(2) == ["The server has ended. It is started again now.", "The server answers again."]
    assert [answers for _, answers in watched.messages] == [False, True]
    assert server.running()
    assert watched.look(3) == []


def test_one_that_is_alive_and_silent_is_ended_and_started_again(server: Sleeper) -> None:
    watched = Watched(server)
    assert watched.look(0) == []
    stopped = server.daemon.pid()
    assert stopped is not None
    os.kill(stopped, signal.SIGSTOP)
    while server.answers(0):
        pass
    silence = [ASK_EVERY * n for n in range(1, MOST_UNANSWERED)]
    assert [watched.look(now) for now in silence] == [[]] * (MOST_UNANSWERED - 1), "a pause is no end"
    assert watched.look(silence[-1] + 3600 - ASK_EVERY / 2) == [
        "The server has not answered for 60 s, and is ended. It is started again now.",
        "The server answers again.",
    ]
    assert [answers for _, answers in watched.messages] == [False, True]
    assert server.daemon.pid() not in {None, stopped}
    assert watched.look(silence[-1] + 7200) == []


def test_a_pause_of_a_server_is_forgotten(server: Sleeper) -> None:
    watched = Watched(server)
    pid = server.daemon.pid()
    assert pid is not None
    for number, deaf in enumerate([True] * (MOST_UNANSWERED - 1) + [False] + [True] * (MOST_UNANSWERED - 1)):
        os.kill(pid, signal.SIGSTOP if deaf else signal.SIGCONT)
        while server.answers(0) is deaf:
            pass
        assert watched.look(ASK_EVERY * number) == []
    assert server.daemon.pid() == pid


def test_one_that_dies_again_and_again_is_started_later_and_later(server: Sleeper) -> None:
    watched = Watched(server)
    now, waits = 0.0, []
    for _ in range(8):
        server.die()
        ended, *again = watched.look(now)
        wait = 0.0 if "now" in ended else float(ended.split()[-2])
        if not again:
            assert watched.look(now + wait - 0.1) == []
            assert not server.running()
            again = watched.look(now + wait)
        assert again == ["The server answers again."]
        waits.append(wait)
        now += wait + 1
    assert waits == [0, 2, 4, 8, 16, 32, 60, 60]
    assert watched.look(now + STEADY) == []
    server.die()
    assert watched.look(now + STEADY + 1)[0].endswith("started again now.")


def test_one_that_cannot_be_started_is_tried_again(server: Sleeper) -> None:
    watched = Watched(server)
    server.die()
    server.trouble = "Port 1 is taken."
    ended, failed = watched.look(0)
    assert ended == "The server has ended. It is started again now."
    assert failed == "The server could not be started: Port 1 is taken. It is started again in 2 s."
    server.trouble = ""
    assert watched.look(1.9) == []
    assert watched.look(2) == ["The server answers again."]


def test_the_check_fails_while_spark_does_not_answer_and_passes_when_it_does(server: Sleeper) -> None:
    printed = io.StringIO()
    with dg.DagsterInstance.ephemeral() as instance:
        context = Context(err=Console(file=printed, width=200))
        broker, spark = supervised(context, instance, {BROKER: server, SPARK_CONNECT: server})
        server.die()
        spark.look()
        server.die()
        broker.look()
        history = instance.event_log_storage.get_asset_check_execution_history(
            dg.AssetCheckKey(server_key(), NAME), limit=9
        )
    assert [record.status.value for record in history] == ["SUCCEEDED", "FAILED"]
    assert printed.getvalue().splitlines() == [
        "The Spark Connect server has ended. It is started again now.",
        "The Spark Connect server answers again.",
        "The Kafka broker has ended. It is started again now.",
        "The Kafka broker answers again.",
    ]
