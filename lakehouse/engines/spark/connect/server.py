"""A Spark Connect server on this machine: one JVM for all runs, a session for each, and none waits for a start."""

import fcntl
import os
import secrets
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from lakehouse.engines.background_process import Daemon
from lakehouse.engines.spark.conf import process_conf, scratch_folder
from lakehouse.engines.spark.connect.client import Remote, token_file
from lakehouse.engines.spark.driver import last_words
from lakehouse.engines.spark.properties import properties_file
from lakehouse.errors import LakehouseError
from lakehouse.settings import Settings
from lakehouse.settings.state import make_private

READY_WITHIN = 240.0  # seconds; it is up in ten, and a machine with other work takes its time


class ConnectServerFailed(LakehouseError):
    """The Connect server could not be started."""


class ConnectServer:
    """The server whose files are in `State.root/spark-connect`; any number of these objects mean the same one.

    It listens on the loopback interface and answers only to those who can read its key. It carries no catalog: sessions
    bring theirs, so that the server need not be restarted, and knows no secrets.
    """

    def __init__(self, settings: Settings) -> None:
        """Name the server of the settings; nothing happens yet.

        Raises:
            ConnectServerFailed: The platform's server is not ours to start.
        """
        platform = settings.platform
        remote = Remote.of(settings) if platform.mode == "connect" else None
        if remote is None or platform.master is None or not remote.here:
            raise ConnectServerFailed(
                f"Platform {platform.name!r} has no Spark Connect server that could be started here.",
                remedy="select the platform `connect`, or give its file a `master` and a remote on 127.0.0.1.",
            )
        self._settings = settings
        self._remote = remote
        self._folder = token_file(settings.state).parent
        self._daemon = Daemon(self._folder / "server.pid", settings.state.logs / "spark-connect.log")

    @property
    def pid(self) -> int | None:
        """Its process, if it is alive."""
        return self._daemon.pid()

    def running(self) -> bool:
        """Whether its process is alive."""
        return self.pid is not None

    def answers(self, timeout: float) -> bool:
        """Whether it answers a client within so many seconds; a process that is stopped is alive, and does not."""
        return self._remote.speaks(timeout)

    def start(self) -> bool:
        """Start it unless it is running, and return when it answers.

        Returns:
            Whether it had to be started.

        Raises:
            ConnectServerFailed: The port is taken, or it ended or did not answer in time; with its last words.
            JarMismatch: The JARs are not the locked ones.
        """
        with self._turn():
            if self.running() and self._comes_up():
                return False
            if self._remote.answers(timeout=1):
                raise ConnectServerFailed(
                    f"Port {self._remote.port} is taken by another process.",
                    remedy="stop that one, or choose another with LAKEHOUSE__PLATFORM__REMOTE=sc://127.0.0.1:<port>.",
                )
            with properties_file(self._conf(), scratch_folder(self._settings)) as properties:
                self._launch(properties)
                if self._comes_up():
                    return True
            raise ConnectServerFailed(
                f"The Spark Connect server ended right after its start: {last_words(self._daemon.log)}",
                remedy=f"see {self._daemon.log}.",
            )

    def stop(self) -> bool:
        """End it, gently first. Returns whether it was running."""
        if not self._folder.is_dir():
            return False
        with self._turn():
            token_file(self._settings.state).unlink(missing_ok=True)
            return self._daemon.stop(patience=self._settings.platform.stop_timeout_seconds)

    def _conf(self) -> dict[str, str]:
        token = secrets.token_urlsafe(32)
        file = token_file(self._settings.state)
        file.unlink(missing_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as stream:
            stream.write(token)
        conf = process_conf(self._settings)
        return {
            # Sessions share one daemon. A worker that had run a step of one process could have imported other code than
            # the next process has.
            "spark.python.worker.reuse": "false",
            **conf,
            # A server that is out of memory may live on without working; one that ends can be started again.
            "spark.driver.extraJavaOptions": f"{conf['spark.driver.extraJavaOptions']} -XX:+ExitOnOutOfMemoryError",
            "spark.app.name": "lakehouse-connect",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self._remote.port),
            "spark.connect.authenticate.token": token,
        }

    def _launch(self, properties: Path) -> None:
        home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
        submit = [
            str(Path(home) / "bin" / "spark-submit"),
            "--properties-file",
            str(properties),
            "--load-spark-defaults",
        ]
        server = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
        # What this process was told about Spark is not for the server: it is started, not connected to.
        environ = {
            key: value for key, value in os.environ.items() if not key.startswith(("SPARK_CONNECT", "SPARK_REMOTE"))
        }
        self._daemon.log.unlink(missing_ok=True)  # an earlier life's last words do not explain this one's end
        self._daemon.start([*submit, *server], {"PYSPARK_PYTHON": sys.executable, **environ})

    def _comes_up(self) -> bool:
        """Wait until it answers; False if it ends instead."""
        deadline = time.monotonic() + READY_WITHIN
        while self.running():
            if self._remote.answers(timeout=1):
                return True
            if time.monotonic() > deadline:
                raise ConnectServerFailed(
                    f"The Spark Connect server did not answer in {READY_WITHIN:.0f} s: {last_words(self._daemon.log)}",
                    remedy=f"see {self._daemon.log}; where the machine is slow, run it again",
                )
            time.sleep(0.1)
        return False

    @contextmanager
    def _turn(self) -> Generator[None]:
        make_private(self._folder)
        with (self._folder / "turn.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
