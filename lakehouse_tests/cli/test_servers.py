import json
import socket

import pytest

from lakehouse_tests.cli.conftest import Lakehouse
from lakehouse_tests.fixtures.spark import free_port

pytestmark = pytest.mark.slow


@pytest.mark.kafka
@pytest.mark.slow
def test_up_starts_status_shows_and_down_stops(lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch):
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS", address)
    try:
        assert lakehouse("up").stdout == f"Kafka broker started at {address}\n"
        assert lakehouse("up").stdout == f"Kafka broker was running at {address}\n"
        assert (
            lakehouse("produce", "mine", "--file", "-", "--partitions", "3", "--unread", stdin="1\n2\n").exit_code == 0
        )

        status = json.loads(lakehouse("status", "--json").stdout)
        assert (status["kafka"], status["kafka_up"], status["connect_pid"]) == (address, True, None)
        assert status["topics"] == [{"topic": "mine", "partitions": 3, "messages": 2}]
        shown = lakehouse("status").stdout
        assert "mine" in shown
        assert str(status["broker_pid"]) in shown
    finally:
        stopped = lakehouse("down")
    assert (stopped.exit_code, "Kafka broker stopped" in stopped.stdout) == (0, True)
    assert "Kafka broker was not running" in lakehouse("down").stdout


def test_status_of_a_lakehouse_at_rest(lakehouse: Lakehouse):
    result = lakehouse("status", "--json")
    assert result.exit_code == 0
    status = json.loads(result.stdout)
    assert (status["kafka_up"], status["broker_pid"], status["topics"]) == (False, None, [])
    assert lakehouse("status").exit_code == 0


def test_a_cluster_of_somebody_else_is_neither_started_nor_stopped(
    lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LAKEHOUSE__KAFKA__LOCAL", "false")
    assert lakehouse("up").stdout == "Kafka at 127.0.0.1:1 is not ours to start\n"
    assert "Kafka" not in lakehouse("down").stdout
    status = lakehouse("status", "--json")
    assert json.loads(status.stdout)["kafka_up"] is False
    assert "No Kafka broker answers at 127.0.0.1:1" in status.stderr


def test_the_jars_verb_checks_what_was_fetched(lakehouse: Lakehouse):
    result = lakehouse("jars")
    assert result.exit_code == 0
    assert "JARs of spark verified" in result.stderr
    assert "JARs of broker verified" in result.stderr


@pytest.mark.parametrize(
    "verb",
    [
        ("produce", "mine", "--file", "-", "--unread"),
        ("produce", "--days", "1"),
        ("produce",),
        ("simulate", "changes"),
        ("verify", "--yes"),
    ],
    ids=" ".join,
)
def test_nothing_is_sent_to_the_broker_of_another_lakehouse(
    lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setenv("LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS", f"127.0.0.1:{port}")
        result = lakehouse(*verb, stdin="1\n")
    assert result.exit_code == 2
    assert f"Port {port} of 127.0.0.1 is taken by another process" in result.stderr
