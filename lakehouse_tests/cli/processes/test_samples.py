"""The messages that a project brings along are sent to an empty topic of the local broker, once."""

from pathlib import Path

import pytest

from lakehouse.cli.context import Context
from lakehouse.cli.processes.samples import send_samples
from lakehouse.engines.kafka import read_topic
from lakehouse_tests.cli.conftest import house
from lakehouse_tests.orchestration.assets.house import House

__all__ = ["house"]
pytestmark = pytest.mark.kafka


def send(house: House, *, local: bool = True) -> dict[str, int]:
    context = Context(house.conf)
    kafka = house.settings.kafka.model_copy(update={"local": local})
    context.settings = house.settings.model_copy(update={"kafka": kafka})
    return send_samples(context)


@pytest.fixture
def samples(house: House) -> Path:
    folder = house.conf / "samples"
    folder.mkdir()
    (folder / "birds.jsonl").write_text('{"name": "tit"}\n\n{"name": "owl"}\n')
    (folder / "unheard_of.jsonl").write_text("{}\n")
    return folder


@pytest.mark.usefixtures("samples")
def test_they_are_sent_once(house: House) -> None:
    assert send(house) == {house.topic: 2}
    assert send(house) == {}
    assert sum(ends.last_stable for ends in read_topic(house.kafka, house.topic).partitions.values()) == 2


@pytest.mark.usefixtures("samples")
def test_a_topic_that_somebody_uses_is_left_alone(house: House) -> None:
    house.birds(1)
    assert send(house) == {}


@pytest.mark.usefixtures("samples")
def test_nothing_is_sent_to_a_broker_that_is_not_ours(house: House) -> None:
    assert send(house, local=False) == {}
