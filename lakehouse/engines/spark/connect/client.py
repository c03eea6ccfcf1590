"""A session on a Spark Connect server."""

import os
import re
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

import grpc
from grpc import StatusCode
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql import SparkSession

from lakehouse.engines.spark.connect.given_server import is_given
from lakehouse.engines.spark.interrupts import cancelled_by_signals
from lakehouse.errors import LakehouseError
from lakehouse.settings import Settings
from lakehouse.settings.state import StateFolder

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession as RemoteSession

_MODE = "SPARK_CONNECT_MODE_ENABLED"
_ISOLATION = "spark.sql.artifact.isolation.enabled"
_LOCAL_HOSTS = ("127.0.0.1", "localhost")
_REMEDY = (
    "`lakehouse dev` starts the local one again by itself; without it, start that one with `lakehouse up --connect`, "
    "or correct `remote` in the platform's file."
)
_GIVEN_REMEDY = "have it started, or correct `remote` in the platform's file (SPARK_REMOTE, where that refers to it)."
# Of a server elsewhere: PySpark would go on for ten minutes where TLS does not come about, and not say why.
_HANDSHAKE_SECONDS = 10.0
# Closed, and never collected: PySpark's SparkSession.__del__ waits for a pool of threads that all sessions of a process
# share. Where the collector calls it while gRPC holds the lock of a later session's channel, the two wait for each
# other for ever, and the run hangs (seen in PySpark 4.1.3).
_closed: list[SparkSession] = []


class SparkUnreachable(LakehouseError):
    """Nobody answers where the Connect server should be, or the server went away under a session."""


@dataclass(frozen=True)
class Remote:
    """A Connect server's address, `sc://host:port/;key=value`."""

    host: str
    port: int
    url: str = field(repr=False)  # it may hold a token
    given: bool = False  # somebody else has started it

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Read the platform's address.

        Raises:
            SparkUnreachable: It is not an address.
        """
        url = settings.platform.remote_address or ""
        match = re.fullmatch(r"sc://(\[[^\]]+\]|[^:/;]+)(?::(\d+))?(?:/.*)?", url)
        if match is None:
            raise SparkUnreachable(
                f"Platform {settings.platform.name!r}: its `remote` is not the address of a Spark Connect server.",
                remedy="set `remote` to sc://host:port.",
            )
        return cls(match[1].strip("[]"), int(match[2] or 15002), url, given=is_given(settings.platform))

    @property
    def here(self) -> bool:
        """Whether it is on this machine."""
        return self.host in _LOCAL_HOSTS

    def answers(self, timeout: float = 5) -> bool:
        """Whether somebody listens there."""
        try:
            with socket.create_connection((self.host, self.port), timeout=timeout):
                return True
        except OSError:
            return False

    def speaks(self, timeout: float) -> bool:
        """Whether a server shakes hands there: of a stopped process the system itself takes connections."""
        # Else gRPC would take a connection that a session of this process has open.
        options = [("grpc.use_local_subchannel_pool", 1)]
        address = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
        opened = (
            grpc.secure_channel(address, grpc.ssl_channel_credentials(), options)
            if self.secure and self.given
            else grpc.insecure_channel(address, options)
        )
        with opened as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout)
            except grpc.FutureTimeoutError:
                return False
        return True

    @property
    def secure(self) -> bool:
        """Whether PySpark speaks TLS with it: where the address asks for it, or sends a token to another machine."""
        parameters = [part.partition("=") for part in self.url.partition("/;")[2].split(";")]
        if any(key == "use_ssl" and value.lower() == "true" for key, _, value in parameters):
            return True
        return self.host != "localhost" and any(key == "token" for key, _, _ in parameters)

    @property
    def remedy(self) -> str:
        """What to do where it does not answer."""
        return _GIVEN_REMEDY if self.given else _REMEDY

    def require(self) -> None:
        """Insist that somebody listens there, and that a given server speaks as the address says.

        Raises:
            SparkUnreachable: Nobody does, or TLS does not come about.
        """
        if not self.answers():
            raise SparkUnreachable(f"No Spark Connect server answers at {self.host}:{self.port}.", remedy=self.remedy)
        if self.given and not self.speaks(_HANDSHAKE_SECONDS):
            spoken = "TLS" if self.secure else "HTTP/2 without TLS"
            raise SparkUnreachable(
                f"Something takes connections at {self.host}:{self.port}, and does not speak {spoken} as the address "
                "of the Spark Connect server asks.",
                remedy="ask for TLS with `;use_ssl=true`, or for none, as the server has it; a certificate of an own "
                "authority needs GRPC_DEFAULT_SSL_ROOTS_FILE_PATH, a file that has the authority's.",
            )


def token_file(state: StateFolder) -> Path:
    """Where the server that we start leaves its key, readable by its owner only."""
    return state.root / "spark-connect" / "token"


@contextmanager
def connect_session(settings: Settings) -> Generator[SparkSession]:
    """A session of our own on the server; its jobs end with it.

    Raises:
        SparkUnreachable: Nobody answers there, or the server went away meanwhile.
    """
    # With it comes pandas, of no use to classic Spark.
    from lakehouse.engines.spark.connect.client_behaviour import active

    remote = Remote.of(settings)
    remote.require()  # PySpark itself would go on trying for ten minutes
    was_remote = os.environ.get(_MODE)
    patience = settings.platform.stop_timeout_seconds
    session: SparkSession | None = None
    try:
        address = remote.url if remote.given else _with_key(remote, settings.state)
        session = _clean_session(remote, address, patience)
        with cancelled_by_signals(session.interruptAll), active(cast("RemoteSession", session)):
            yield session
    except SparkConnectGrpcException as error:
        if remote.given and session is None and error.getGrpcStatusCode() is StatusCode.UNAUTHENTICATED:
            raise SparkUnreachable(
                f"The Spark Connect server at {remote.host}:{remote.port} refuses the token of this address.",
                remedy="give the address the server's token: `;token=${env:NAME}` in `remote`, or in SPARK_REMOTE.",
            ) from None  # PySpark's own error repeats metadata of the call
        if not _server_is_gone(error, begun=session is not None):
            raise
        raise SparkUnreachable(
            f"The Spark Connect server at {remote.host}:{remote.port} went away under this session.",
            remedy=remote.remedy,
        ) from error
    finally:
        if session is not None:
            _close(session, patience)
        if was_remote is None:
            os.environ.pop(_MODE, None)  # PySpark would refuse a classic session in this process from now on


def _clean_session(remote: Remote, address: str, patience: float) -> SparkSession:
    """A new session that leaves nothing behind on the server.

    Spark Connect starts a daemon for Python workers, with threads in the server that watch over it, for each session
    that keeps files of its own for them, and never ends those. Ours keep none. A session tells that from its settings
    when it is first spoken to, which is too early for a new one: so it is the copy of another that has the setting.
    """
    first = _session(remote, address)
    try:
        first.conf.set(_ISOLATION, "false")
        copy = first.cloneSession()
    finally:
        _close(cast("SparkSession", first), patience)
    copy.client.close()  # what PySpark gives for a copy is not whole, but the session is on the server
    _closed.append(cast("SparkSession", copy))
    return cast("SparkSession", _session(remote, _with_parameter(address, "session_id", copy.session_id)))


def _session(remote: Remote, address: str) -> "RemoteSession":
    session = cast("RemoteSession", SparkSession.builder.remote(address).create())
    # With it comes pandas, of no use to classic Spark.
    from lakehouse.engines.spark.connect.client_behaviour import WhileItAnswers, own_checkpoints

    own_checkpoints(session)
    if remote.here:
        session.client.set_retry_policies([WhileItAnswers(remote.answers)])
    return session


def _close(session: SparkSession, patience: float) -> None:
    stopping = threading.Thread(target=session.stop, name="spark-stop", daemon=True)
    stopping.start()
    stopping.join(patience)
    _closed.append(session)


def _server_is_gone(error: SparkConnectGrpcException, *, begun: bool) -> bool:
    """Whether the server that the session was on is gone, or another one has taken its place."""
    status = error.getGrpcStatusCode()
    # One that was started anew has another key, or knows no such session.
    replaced = status is StatusCode.UNAUTHENTICATED or (error.getCondition() or "").startswith("INVALID_HANDLE.SESSION")
    return status is StatusCode.UNAVAILABLE or (begun and replaced)


def _with_parameter(address: str, name: str, value: str) -> str:
    """An address with one more parameter: `sc://host:port/;key=value`."""
    separator = "" if address.endswith(";") else ";" if "/" in address.removeprefix("sc://") else "/;"
    return f"{address}{separator}{name}={value}"


def _with_key(remote: Remote, state: StateFolder) -> str:
    """The address with the key of our own server, without which any user of this machine could run code as us."""
    token = token_file(state)
    if remote.here and token.is_file():
        # PySpark sends a key without TLS only to this very name.
        return f"sc://localhost:{remote.port}/;token={token.read_text(encoding='ascii')}"
    return remote.url
