"""A session on a Spark Connect server."""

import os
import re
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pyspark.sql import SparkSession

from lakehouse.errors import LakehouseError
from lakehouse.settings import Settings
from lakehouse.spark.interrupts import cancelled_by_signals
from lakehouse.state import State

_MODE = "SPARK_CONNECT_MODE_ENABLED"
# Closed, and never collected: PySpark's SparkSession.__del__ waits for a pool of threads that all sessions of a process
# share. Where the collector calls it while gRPC holds the lock of a later session's channel, the two wait for each
# other for ever, and the run hangs (seen in PySpark 4.1.3).
_closed: list[SparkSession] = []


class SparkUnreachable(LakehouseError):
    """Nobody answers where the Connect server should be."""


@dataclass(frozen=True)
class Remote:
    """A Connect server's address, `sc://host:port/;key=value`."""

    host: str
    port: int
    url: str

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Read the platform's address.

        Raises:
            SparkUnreachable: It is not an address.
        """
        url = settings.platform.remote or ""
        match = re.fullmatch(r"sc://(\[[^\]]+\]|[^:/;]+)(?::(\d+))?(?:/.*)?", url)
        if match is None:
            raise SparkUnreachable(
                f"Platform {settings.platform.name!r}: {url!r} is not the address of a Spark Connect server.",
                remedy="set `remote` to sc://host:port.",
            )
        return cls(match[1].strip("[]"), int(match[2] or 15002), url)

    def answers(self, timeout: float = 5) -> bool:
        """Whether somebody listens there."""
        try:
            with socket.create_connection((self.host, self.port), timeout=timeout):
                return True
        except OSError:
            return False


def token_file(state: State) -> Path:
    """Where the server that we start leaves its key, readable by its owner only."""
    return state.root / "spark-connect" / "token"


@contextmanager
def connect_session(settings: Settings) -> Generator[SparkSession]:
    """A session of our own on the server; its jobs end with it.

    Raises:
        SparkUnreachable: Nobody answers there.
    """
    remote = Remote.of(settings)
    if not remote.answers():
        # PySpark itself would go on trying for ten minutes.
        raise SparkUnreachable(
            f"No Spark Connect server answers at {remote.host}:{remote.port}.",
            remedy="start the local one with `lakehouse up`, or correct `remote` in the platform's file.",
        )
    was_remote = os.environ.get(_MODE)
    session = SparkSession.builder.remote(_with_key(remote, settings.state)).create()
    try:
        with cancelled_by_signals(session.interruptAll):
            yield session
    finally:
        stopping = threading.Thread(target=session.stop, name="spark-stop", daemon=True)
        stopping.start()
        stopping.join(settings.platform.stop_timeout_seconds)
        _closed.append(session)
        if was_remote is None:
            os.environ.pop(_MODE, None)  # PySpark would refuse a classic session in this process from now on


def _with_key(remote: Remote, state: State) -> str:
    """The address with the key of our own server, without which any user of this machine could run code as us."""
    token = token_file(state)
    if remote.host in {"127.0.0.1", "localhost"} and token.is_file():
        # PySpark sends a key without TLS only to this very name.
        return f"sc://localhost:{remote.port}/;token={token.read_text(encoding='ascii')}"
    return remote.url
