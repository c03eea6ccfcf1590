"""A group's name; what the broker does is in test_company_kafka.py and in test_position_mirror.py."""

import pytest

from lakehouse.engines.kafka import BrokerUnreachable
from lakehouse.engines.kafka.consumer_group import group_of, set_group_offsets
from lakehouse.settings import KafkaSettings


def test_a_group_is_the_prefix_and_the_stream() -> None:
    assert group_of(KafkaSettings(bootstrap_servers="a:1"), "flights") == "lakehouse-flights"
    assert group_of(KafkaSettings(bootstrap_servers="a:1", group_prefix="team."), "flights") == "team.flights"


def test_a_broker_that_is_away_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakehouse.engines.kafka.connection.Connection.__init__.__kwdefaults__", {"timeout": 0.2})
    with pytest.raises(BrokerUnreachable, match=r"127\.0\.0\.1:1"):
        set_group_offsets(KafkaSettings(bootstrap_servers="127.0.0.1:1"), "g", "t", {0: 1})
