import pytest

from lakehouse.doctor.machine.brokers import brokers
from lakehouse.engines.kafka.connection import Connection
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse_tests.fixtures.spark import REPOSITORY


def test_brokers_that_do_not_answer_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = Connection.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "timeout", 0.3)
    settings = load_settings(REPOSITORY / "conf", {})
    far = {"kafka": KafkaSettings(bootstrap_servers="127.0.0.1:1")}
    (finding,) = brokers(settings.model_copy(update=far))
    assert (finding.state, "127.0.0.1:1" in finding.message, finding.remedy != "") == ("wrong", True, True)


def test_our_own_is_started_when_it_is_needed() -> None:
    assert list(brokers(load_settings(REPOSITORY / "conf", {}))) == []
