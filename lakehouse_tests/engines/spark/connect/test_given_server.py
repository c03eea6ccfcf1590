"""A Connect server that somebody else has started: what it lacks is named before a step meets it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pyspark
import pytest

from lakehouse.engines.spark import (
    ConnectServer,
    ConnectServerFailed,
    Remote,
    ServerUnfit,
    SparkUnreachable,
    spark_session,
)
from lakehouse.engines.spark import session as session_module
from lakehouse.engines.spark.connect.client import token_file
from lakehouse.engines.spark.connect.given_server import EXTENSIONS, unfit_settings
from lakehouse.settings import Platform, Settings, load_settings
from lakehouse_tests.fixtures.spark import free_port, settings_of

CONF = Path(__file__).parents[4] / "conf"
SECRET = "t0p-secret-token"


def given(remote: str, **conf: str) -> Platform:
    """A platform whose server is not ours."""
    return Platform(name="remote", mode="connect", remote=remote, conf=conf)


def test_the_address_comes_from_the_environment_as_for_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", f"sc://spark.example.com:443/;use_ssl=true;token={SECRET}")
    settings = load_settings(CONF, {"LAKEHOUSE_PLATFORM": "remote"})
    remote = Remote.of(settings)
    assert (remote.host, remote.port, remote.given, remote.secure) == ("spark.example.com", 443, True, True)
    assert remote.url.endswith(f"token={SECRET}")
    assert SECRET not in f"{settings!r} {remote!r}"
    with pytest.raises(ConnectServerFailed):
        ConnectServer(settings)


@pytest.mark.parametrize(
    ("url", "secure"),
    [
        ("sc://h:1", False),
        ("sc://h:1/;user_id=x", False),
        ("sc://h:1/;use_ssl=true", True),
        ("sc://h:1/;token=t", True),
        ("sc://localhost:1/;token=t", False),
    ],
)
def test_tls_is_spoken_where_pyspark_speaks_it(url: str, secure: bool) -> None:
    assert Remote(url.split("/")[2].partition(":")[0], 1, url).secure is secure


def test_what_only_a_start_can_set_is_named() -> None:
    ours = {"spark.sql.extensions": f"a.B,{EXTENSIONS}", "spark.driver.memory": "8g"}
    version = pyspark.__version__
    assert list(unfit_settings(ours.get, version, {"spark.driver.memory": "8g"})) == []
    (problem,) = unfit_settings({}.get, version, {})
    assert "IcebergSparkSessionExtensions" in problem
    (problem,) = unfit_settings(ours.get, version, {"spark.driver.memory": "1g"})
    assert problem == "spark.driver.memory is another there, and no session can set it"
    (problem,) = unfit_settings(ours.get, "4.0.1", {})
    assert problem == f"it is Spark 4.0.1, and PySpark here is {version}"


@pytest.fixture
def plain() -> Iterator[int]:
    """The port of a server that speaks gRPC without TLS."""
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield port
    server.stop(None).wait()


def test_a_server_without_tls_is_named(plain: int, tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakehouse.engines.spark.connect.client._HANDSHAKE_SECONDS", 0.5)
    settings = settings_of(tmp_path, jars, given(f"sc://127.0.0.1:{plain}/;use_ssl=true;token={SECRET}"))
    with pytest.raises(SparkUnreachable, match="does not speak TLS") as caught:
        Remote.of(settings).require()
    assert "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH" in caught.value.remedy
    assert SECRET not in str(caught.value)
    Remote.of(settings_of(tmp_path / "plain", jars, given(f"sc://127.0.0.1:{plain}"))).require()


def test_nobody_there_names_what_refers_to_the_address(tmp_path: Path, jars: Path) -> None:
    settings = settings_of(tmp_path, jars, given(f"sc://127.0.0.1:{free_port()}"))
    with pytest.raises(SparkUnreachable) as caught:
        Remote.of(settings).require()
    assert "SPARK_REMOTE" in caught.value.remedy
    assert "lakehouse" not in caught.value.remedy, "a given server is not ours to start"


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated")  # PySpark's, when it cannot say goodbye
def test_a_given_server_is_looked_at_before_a_step_uses_it(
    connect_settings: Settings, tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = Remote.of(connect_settings).port
    token = token_file(connect_settings.state).read_text(encoding="ascii")
    monkeypatch.setattr(session_module, "_fit", set[object]())
    refused = settings_of(tmp_path / "a", jars, given(f"sc://localhost:{port}/;token={SECRET}"))
    with pytest.raises(SparkUnreachable, match="refuses the token"), spark_session(refused, app_name="refused"):
        pytest.fail("the token is not the server's")
    address = f"sc://localhost:{port}/;token={token}"
    other = settings_of(tmp_path / "b", jars, given(address, **{"spark.driver.memory": "77g"}))
    unfit = pytest.raises(ServerUnfit, match=r"spark\.driver\.memory is another there")
    with unfit, spark_session(other, app_name="unfit"):
        pytest.fail("no session can set it")
    fitting = settings_of(tmp_path / "c", jars, given(address, **{"spark.sql.shuffle.partitions": "3"}))
    with spark_session(fitting, app_name="fit") as session:
        assert session.conf.get("spark.sql.shuffle.partitions") == "3"
        assert session.range(3).count() == 3
    assert len(session_module._fit) == 1
