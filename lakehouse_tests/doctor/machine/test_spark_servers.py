"""Spark of others is asked before a step has to be; nothing is started there."""

import socket
import sys
from pathlib import Path

import pytest

from lakehouse.doctor.finding import Diagnosis
from lakehouse.doctor.machine.spark_servers import spark_servers
from lakehouse.settings import Platform, load_settings
from lakehouse_tests.fixtures.spark import REPOSITORY

CLOSED = "127.0.0.1:1"


def findings(platform: Platform | str) -> list[Diagnosis]:
    name = platform if isinstance(platform, str) else "local"
    settings = load_settings(REPOSITORY / "conf", {"LAKEHOUSE_PLATFORM": name})
    update = {} if isinstance(platform, str) else {"platform": platform}
    return list(spark_servers(settings.model_copy(update=update)))


@pytest.mark.parametrize(
    "platform",
    [
        Platform(name="given", mode="connect", remote=f"sc://{CLOSED}"),
        Platform(name="cluster", mode="classic", master=f"spark://{CLOSED}"),
        Platform(name="cluster", mode="submit", master=f"spark://{CLOSED}"),
    ],
)
def test_a_server_that_does_not_answer_is_named(platform: Platform) -> None:
    (finding,) = findings(platform)
    assert (finding.check, finding.state, CLOSED in finding.message, finding.remedy != "") == (
        "spark",
        "wrong",
        True,
        True,
    )


def test_a_name_that_nobody_knows_is_told_from_a_port_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "create_connection", unknown)
    (finding,) = findings("standalone")
    assert "spark-master.example.com:7077 (nobody knows its name)" in finding.message


def test_one_master_of_several_is_enough() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        (finding,) = findings(Platform(name="c", mode="classic", master=f"spark://{CLOSED},127.0.0.1:{port}"))
    assert (finding.state, str(port) in finding.message) == ("well", True)


@pytest.mark.parametrize("name", ["emr-serverless", "glue"])
def test_a_service_whose_client_is_missing_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("botocore.config", "botocore.session"):
        monkeypatch.setitem(sys.modules, module, None)
    (finding,) = findings(name)
    assert (finding.check, finding.state, "lakehouse[aws]" in finding.remedy) == ("spark", "wrong", True)


@pytest.mark.usefixtures("nobody_to_aws")
def test_a_service_that_cannot_be_asked_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (emr,) = findings("emr-serverless")
    assert (emr.check, emr.state, "credentials" in emr.message) == ("spark", "wrong", True)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nosuch"))
    (kubernetes,) = findings("kubernetes")
    assert (kubernetes.state, "kubeconfig" in kubernetes.message) == ("wrong", True)


def test_our_own_are_started_when_they_are_needed() -> None:
    assert [*findings("local"), *findings("connect")] == []
