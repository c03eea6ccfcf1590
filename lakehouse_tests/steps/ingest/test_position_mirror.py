"""The mirror of a position is written where it is asked for; what fails is told, and ends no step."""

from collections.abc import Mapping

import pytest

from lakehouse.engines.kafka import KafkaBusy
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest import position_mirror
from lakehouse.steps.ingest.position_mirror import PositionMirror, mirror_position

OFF = KafkaSettings(bootstrap_servers="a:1")
ON = KafkaSettings(bootstrap_servers="a:1", mirror_positions=True)
Written = list[tuple[str, str, dict[int, int]]]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    calls: Written = []

    def write(_kafka: KafkaSettings, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        calls.append((group, topic, dict(offsets)))

    monkeypatch.setattr(position_mirror, "set_group_offsets", write)
    return calls


def test_nothing_is_written_unless_it_is_asked_for(written: Written) -> None:
    assert mirror_position(OFF, "flights", TopicState("t", "c", "i", {}), {0: 1}) is None
    assert written == []


def test_the_group_of_the_stream_gets_the_next_offsets(written: Written) -> None:
    assert mirror_position(ON, "flights", TopicState("t", "c", "i", {}), {0: 1, 1: 7}) == PositionMirror(
        "lakehouse-flights"
    )
    assert written == [("lakehouse-flights", "t", {0: 1, 1: 7})]


def test_what_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KafkaBusy("the coordinator moves")

    monkeypatch.setattr(position_mirror, "set_group_offsets", fail)
    assert mirror_position(ON, "flights", TopicState("t", "c", "i", {}), {0: 1}) == PositionMirror(
        "lakehouse-flights", "the coordinator moves"
    )
