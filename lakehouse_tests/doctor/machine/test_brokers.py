import pytest

from lakehouse.doctor.machine.brokers import brokers, spark_connect
from lakehouse.engines.kafka.connection import Connection
from lakehouse.settings import KafkaSettings, Platform, load_settings
from lakehouse_tests.fixtures.spark import REPOSITORY


def test_servers_that_do_not_answer_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = Connection.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "timeout", 0.3)
    far = {
        "kafka": KafkaSettings(bootstrap_servers="127.0.0.1:1"),
        "platform": Platform(name="given", mode="connect", remote="sc://127.0.0.1:1"),
    }
    settings = load_settings(REPOSITORY / "conf", {}).model_copy(update=far)
    for check in (brokers, spark_connect):
        (finding,) = check(settings)
        assert (finding.state, "127.0.0.1:1" in finding.message, finding.remedy != "") == ("wrong", True, True)


def test_our_own_are_started_when_they_are_needed() -> None:
    settings = load_settings(REPOSITORY / "conf", {})
    assert [*brokers(settings), *spark_connect(settings)] == []
