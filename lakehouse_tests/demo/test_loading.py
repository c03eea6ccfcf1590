import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from lakehouse.demo import DEMO_TOPICS, AnotherHistory, DemoTopicDiffers, Disorder, FlightChanges, load_demo, send_days
from lakehouse.demo.changes import CHANGE_MESSAGES
from lakehouse.demo.flights import FIRST_YEAR, FlightFeed
from lakehouse.demo.reference import MESSAGES
from lakehouse.engines.kafka import LocalBroker, Record, client_config, create_topic, read_topic, send
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.broker import BROKER_LOCK, TopicFactory, state_with_jars

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

LOAD = """
import sys
from lakehouse.demo import load_demo
from lakehouse.settings import KafkaSettings
load_demo(KafkaSettings(bootstrap_servers=sys.argv[1]), topics=[sys.argv[2]])
"""


@pytest.fixture(scope="module")
def demo_broker(tmp_path_factory: pytest.TempPathFactory, jars: Path) -> Iterator[KafkaSettings]:
    """A broker for the demo's topics alone: what is loaded there is counted here."""
    local = LocalBroker(state_with_jars(tmp_path_factory.mktemp("demo"), jars), BROKER_LOCK)
    local.start()
    yield local.settings
    local.stop()


def end_offsets(kafka: KafkaSettings, topic: str) -> list[int]:
    return [limits.last_stable for _, limits in sorted(read_topic(kafka, topic).partitions.items())]


def values(kafka: KafkaSettings, topic: str, partition: int, count: int, start: int = 0) -> list[bytes | None]:
    consumer = Consumer({**client_config(kafka), "group.id": "test", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, partition, start)])
    received: list[bytes | None] = []
    while len(received) < count:
        messages = consumer.consume(min(count - len(received), 10_000), timeout=60)
        assert messages, f"only {len(received)} of {count} came"
        received += [message.value() for message in messages]
    consumer.close()
    return received


def by_partition(records: Iterable[Record]) -> dict[int, list[bytes | None]]:
    parted: dict[int, list[bytes | None]] = defaultdict(list)
    for record in records:
        parted[record.partition].append(record.value)
    return parted


def kill_while_loading(kafka: KafkaSettings, topic: str) -> None:
    create_topic(kafka, topic, 4)
    loader = subprocess.Popen([sys.executable, "-c", LOAD, kafka.bootstrap_servers, topic])
    while loader.poll() is None and sum(end_offsets(kafka, topic)) == 0:
        time.sleep(0.005)
    os.kill(loader.pid, signal.SIGKILL)
    loader.wait()


@pytest.mark.soak
def test_a_load_that_was_killed_is_completed_and_nothing_is_sent_twice(demo_broker: KafkaSettings):
    kill_while_loading(demo_broker, "flights")
    before = sum(end_offsets(demo_broker, "flights"))
    assert 0 < before < FIRST_YEAR, "the kill came too late to interrupt anything"

    sent = load_demo(demo_broker, topics=["flights", "reference"])
    assert sent == {"flights": FIRST_YEAR - before, "reference": MESSAGES}
    ends = end_offsets(demo_broker, "flights")
    assert sum(ends) == FIRST_YEAR
    assert max(ends) - min(ends) <= 1
    expected = FlightFeed().first_year()
    for partition, end in enumerate(ends):
        assert values(demo_broker, "flights", partition, end) == expected[partition::4]

    assert load_demo(demo_broker, topics=["flights", "reference"]) == {"flights": 0, "reference": 0}


@pytest.mark.soak
def test_changes_are_completed_as_well_after_a_kill_and_each_keeps_its_place(demo_broker: KafkaSettings):
    kill_while_loading(demo_broker, "flight_changes")
    before = sum(end_offsets(demo_broker, "flight_changes"))
    assert 0 < before < CHANGE_MESSAGES, "the kill came too late to interrupt anything"

    assert load_demo(demo_broker, topics=["flight_changes"]) == {"flight_changes": CHANGE_MESSAGES - before}
    changes = FlightChanges()
    assert end_offsets(demo_broker, "flight_changes") == changes.ends
    # From where the load was interrupted, and the last messages of all.
    for places in ([before // 4] * 4, [end - 50 for end in changes.ends]):
        for partition, expected in by_partition(islice(changes.records(places), 200)).items():
            start, count = places[partition], len(expected)
            assert values(demo_broker, "flight_changes", partition, count, start)[:count] == expected

    assert load_demo(demo_broker, topics=["flight_changes"]) == {"flight_changes": 0}


def test_changes_that_somebody_began_to_send_otherwise_are_not_mixed(broker: KafkaSettings):
    create_topic(broker, "flight_changes", 4)
    other = FlightChanges(disorder=Disorder(late=0.5), days=2)
    assert send(broker, "flight_changes", other.records()) == sum(other.ends)
    with pytest.raises(AnotherHistory, match=r"flight_changes .* holds other changes"):
        load_demo(broker, topics=["flight_changes"])
    assert end_offsets(broker, "flight_changes") == other.ends


@pytest.mark.soak
def test_later_days_follow_one_after_the_other(demo_broker: KafkaSettings):
    load_demo(demo_broker, topics=["flights"])
    feed = FlightFeed()
    assert send_days(demo_broker, 1) == len(feed.day(0))
    assert send_days(demo_broker, 2) == len(feed.day(1)) + len(feed.day(2))
    later = [*feed.day(0), *feed.day(1), *feed.day(2)]
    for partition, end in enumerate(end_offsets(demo_broker, "flights")):
        start = len(range(partition, FIRST_YEAR, 4))
        mine = [value for number, value in enumerate(later, FIRST_YEAR) if number % 4 == partition]
        assert values(demo_broker, "flights", partition, end - start, start) == mine
    assert load_demo(demo_broker, topics=["flights"]) == {"flights": 0}


def test_a_topic_of_the_same_name_but_another_cut_is_refused(
    broker: KafkaSettings, topic: TopicFactory, monkeypatch: pytest.MonkeyPatch
):
    name = topic(partitions=3)
    monkeypatch.setitem(DEMO_TOPICS, name, DEMO_TOPICS["reference"])
    with pytest.raises(DemoTopicDiffers, match=rf"{name} .*has 3 partitions, the demo's has 2"):
        load_demo(broker, topics=[name])
