"""A real Kafka broker on this machine, for the laptop and for tests: KRaft, one node, loopback only, no Docker."""

import base64
import fcntl
import os
import random
import re
import socket
import subprocess
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import structlog

from lakehouse.engines.background_process import Daemon
from lakehouse.engines.jars import verified_jars
from lakehouse.engines.java import java_command
from lakehouse.engines.kafka.connection import BrokerUnreachable, Connection, KafkaBusy, KafkaRefused
from lakehouse.engines.kafka.local.broker_config import server_properties
from lakehouse.errors import LakehouseError
from lakehouse.settings import KafkaSettings, Settings
from lakehouse.settings.shipped import locked_jars
from lakehouse.settings.state import StateFolder, make_private

HOST = "127.0.0.1"
READY_WITHIN = 180.0  # seconds; it is up in four, and a machine with other work takes its time
STOP_WITHIN = 15.0

log = structlog.get_logger("lakehouse.kafka")

_LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost):(\d+)")


class BrokerFailed(LakehouseError):
    """The local broker could not be started."""


class LocalBroker:
    """The broker whose files are in `StateFolder.kafka`. Any number of objects, in any process, mean the same one.

    Start and stop may be called at any time, from anywhere, also after the broker, its starter or the machine was
    killed: who runs is decided by the operating system (a process with this number *and* this start time), and starts
    and stops take turns by a file lock.
    """

    def __init__(self, state: StateFolder, lock: Path, *, port: int | None = None) -> None:
        """Name the broker of a state folder; nothing happens yet.

        Args:
            state: Where its data, its log and its JARs are.
            lock: The SHA-256 lock of its JARs.
            port: Where it shall listen; a free port, chosen once and remembered, if None.
        """
        self._folder = state.kafka
        self._jars = state.jars / "broker"
        self._lock = lock
        self._wanted_port = port
        self._properties = state.kafka / "server.properties"
        self._daemon = Daemon(state.kafka / "broker.pid", state.logs / "broker.log")

    @classmethod
    def of(cls, settings: Settings) -> "LocalBroker":
        """The broker that `conf/kafka` asks for.

        Raises:
            BrokerFailed: The settings name a cluster that is not ours to start.
        """
        match = _LOOPBACK.fullmatch(settings.kafka.bootstrap_servers)
        if not settings.kafka.local or match is None:
            raise BrokerFailed(
                f"Kafka at {settings.kafka.bootstrap_servers} is not a local broker that could be started here.",
                remedy="select the settings of the local one (`LAKEHOUSE_KAFKA=local`), with 127.0.0.1:<port>.",
            )
        return cls(settings.state, locked_jars(settings.conf, "broker") / "jars.sha256", port=int(match[1]))

    @property
    def port(self) -> int:
        """The port on which it listens, or will."""
        if self._wanted_port is None:
            self._wanted_port = self._remembered_port() or _free_port()
        return self._wanted_port

    @property
    def bootstrap_servers(self) -> str:
        """Where clients find it."""
        return f"{HOST}:{self.port}"

    @property
    def settings(self) -> KafkaSettings:
        """What a client needs to know."""
        return KafkaSettings(bootstrap_servers=self.bootstrap_servers, local=True)

    @property
    def pid(self) -> int | None:
        """Its process, if it is alive."""
        return self._daemon.pid()

    def running(self) -> bool:
        """Whether its process is alive."""
        return self.pid is not None

    def answers(self, timeout: float) -> bool:
        """Whether it answers a client within so many seconds; a process that is stopped is alive, and does not."""
        with Connection(self.settings, timeout=timeout) as connection:
            try:
                connection.metadata()
            except BrokerUnreachable:
                return False
            except (KafkaBusy, KafkaRefused):
                return True
        return True

    def require_own(self) -> None:
        """Refuse its port where another process listens: the records of one lakehouse would go to another's broker.

        Raises:
            BrokerFailed: There is one.
        """
        if not self.running() and not _is_free(self.port):
            raise BrokerFailed(
                f"Port {self.port} of {HOST} is taken by another process.",
                remedy="stop it, or choose another port: LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS=127.0.0.1:<port>.",
            )

    def start(self) -> bool:
        """Start it unless it is running, and return when it answers.

        Returns:
            Whether it had to be started.

        Raises:
            BrokerFailed: It ended, or did not answer in time; with its last words.
            JarMismatch: Its JARs are not the locked ones.
            JavaUnusable: There is no Java.
        """
        with self._turn():
            if self.running():
                self._refuse_other_port()
                if self._comes_up():
                    return False
            self._launch()
            if not self._comes_up():
                raise BrokerFailed(
                    f"The broker ended right after its start: {self._last_words()}", remedy=f"see {self._daemon.log}."
                )
        return True

    def stop(self) -> bool:
        """End it, gently first. Returns whether it was running."""
        if not self._folder.is_dir():
            return False
        with self._turn():
            return self._daemon.stop(patience=STOP_WITHIN)

    def _launch(self) -> None:
        java = java_command()
        class_path = os.pathsep.join(str(jar) for jar in verified_jars(self._lock, self._jars))
        self.require_own()
        data = self._folder / "data"
        # The controller's port is for the broker alone: a fresh one each time cannot have been taken meanwhile.
        self._properties.write_text(server_properties(HOST, self.port, _free_port(), data), encoding="utf-8")
        if not (data / "meta.properties").is_file():
            self._format(java, class_path)
        # Its clock starts here: what was printed by an earlier life does not explain this one's end.
        self._daemon.log.unlink(missing_ok=True)
        heap = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-Dlog4j2.level=WARN"]
        command = [java, *heap, "-cp", class_path, "kafka.Kafka", str(self._properties)]
        pid = self._daemon.start(command, os.environ)
        log.info("broker.started", at=self.bootstrap_servers, pid=pid)

    def _format(self, java: str, class_path: str) -> None:
        """Give the data folder a cluster id; once, or again if a kill came in between."""
        tool = [java, "-Xmx128m", "-XX:+UseSerialGC", "-cp", class_path, "kafka.tools.StorageTool"]
        options = ["format", "--standalone", f"--cluster-id={_random_uuid()}", f"--config={self._properties}"]
        result = subprocess.run([*tool, *options], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise BrokerFailed(
                f"The broker's folder could not be formatted: {(result.stderr or result.stdout).strip()}"
            )

    def _comes_up(self) -> bool:
        """Wait until it answers; False if it ends instead (or was about to, when we found it alive)."""
        deadline = time.monotonic() + READY_WITHIN
        with Connection(self.settings, timeout=1.0) as connection:
            while self.running():
                try:
                    connection.metadata()
                except (BrokerUnreachable, KafkaBusy):
                    time.sleep(0.05)
                else:
                    return True
                if time.monotonic() > deadline:
                    raise BrokerFailed(
                        f"The broker at {self.bootstrap_servers} is silent for {READY_WITHIN:.0f} s: "
                        f"{self._last_words()}",
                        remedy=f"see {self._daemon.log}; where the machine is slow, run it again",
                    )
        return False

    def _last_words(self) -> str:
        if not self._daemon.log.is_file():
            return "it printed nothing"
        lines = self._daemon.log.read_text(encoding="utf-8", errors="replace").splitlines()
        relevant = [line for line in lines if "ERROR" in line or "Exception" in line or "FATAL" in line] or lines[-3:]
        return " | ".join(relevant[:3]) or "it printed nothing"

    def _refuse_other_port(self) -> None:
        if self._remembered_port() != self.port:
            raise BrokerFailed(
                f"The broker runs on port {self._remembered_port()}, not on {self.port}.", remedy="stop it first."
            )

    def _remembered_port(self) -> int | None:
        if not self._properties.is_file():
            return None
        match = re.search(r"^listeners=\w+://[\d.]+:(\d+)", self._properties.read_text(encoding="utf-8"), re.MULTILINE)
        return int(match[1]) if match else None

    @contextmanager
    def _turn(self) -> Generator[None]:
        make_private(self._folder)
        with (self._folder / "turn.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def _random_uuid() -> str:
    """A cluster id as Kafka writes them: 16 random bytes in 22 characters."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _free_port() -> int:
    """A port that nobody listens on, below those that the system hands out to outgoing connections."""
    candidates = random.sample(range(20_000, 32_000), k=100)
    return next(port for port in candidates if _is_free(port))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
