import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from lakehouse.demo import DEMO_TOPICS, DemoTopicDiffers, load_demo, send_days
from lakehouse.demo.flights import FIRST_YEAR, FlightFeed
from lakehouse.demo.reference import MESSAGES
from lakehouse.kafka import LocalBroker, client_config, create_topic, read_topic
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.broker import BROKER_LOCK, TopicFactory, state_with_jars

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

LOAD = """
import sys
from lakehouse.demo import load_demo
from lakehouse.settings import KafkaSettings
load_demo(KafkaSettings(bootstrap_servers=sys.argv[1]), topics=["flights"])
"""


@pytest.fixture(scope="module")
def demo_broker(tmp_path_factory: pytest.TempPathFactory, jars: Path) -> Iterator[KafkaSettings]:
    """A broker for the demo's topics alone: what is loaded there is counted here."""
    local = LocalBroker(state_with_jars(tmp_path_factory.mktemp("demo"), jars), BROKER_LOCK)
    local.start()
    yield local.settings
    local.stop()


def held(kafka: KafkaSettings, topic: str) -> list[int]:
    return [limits.last_stable for _, limits in sorted(read_topic(kafka, topic).partitions.items())]


def values(kafka: KafkaSettings, topic: str, partition: int, count: int, start: int = 0) -> list[bytes | None]:
    consumer = Consumer({**client_config(kafka), "group.id": "test", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, partition, start)])
    found: list[bytes | None] = []
    while len(found) < count:
        messages = consumer.consume(min(count - len(found), 10_000), timeout=10)
        assert messages, f"only {len(found)} of {count} came"
        found += [message.value() for message in messages]
    consumer.close()
    return found


def kill_while_loading(kafka: KafkaSettings) -> None:
    create_topic(kafka, "flights", 4)
    loader = subprocess.Popen([sys.executable, "-c", LOAD, kafka.bootstrap_servers])
    while loader.poll() is None and sum(held(kafka, "flights")) == 0:
        time.sleep(0.005)
    os.kill(loader.pid, signal.SIGKILL)
    loader.wait()


def test_a_load_that_was_killed_is_completed_and_nothing_is_sent_twice(demo_broker: KafkaSettings):
    kill_while_loading(demo_broker)
    before = sum(held(demo_broker, "flights"))
    assert 0 < before < FIRST_YEAR, "the kill came too late to interrupt anything"

    assert load_demo(demo_broker) == {"flights": FIRST_YEAR - before, "reference": MESSAGES}
    ends = held(demo_broker, "flights")
    assert sum(ends) == FIRST_YEAR
    assert max(ends) - min(ends) <= 1
    expected = FlightFeed().first_year()
    for partition, end in enumerate(ends):
        assert values(demo_broker, "flights", partition, end) == expected[partition::4]

    assert load_demo(demo_broker) == {"flights": 0, "reference": 0}


def test_later_days_follow_one_after_the_other(demo_broker: KafkaSettings):
    load_demo(demo_broker)
    feed = FlightFeed()
    assert send_days(demo_broker, 1) == len(feed.day(0))
    assert send_days(demo_broker, 2) == len(feed.day(1)) + len(feed.day(2))
    later = [*feed.day(0), *feed.day(1), *feed.day(2)]
    for partition, end in enumerate(held(demo_broker, "flights")):
        start = len(range(partition, FIRST_YEAR, 4))
        mine = [value for number, value in enumerate(later, FIRST_YEAR) if number % 4 == partition]
        assert values(demo_broker, "flights", partition, end - start, start) == mine
    assert load_demo(demo_broker) == {"flights": 0, "reference": 0}


def test_a_topic_of_the_same_name_but_another_cut_is_refused(
    broker: KafkaSettings, topic: TopicFactory, monkeypatch: pytest.MonkeyPatch
):
    name = topic(partitions=3)
    monkeypatch.setitem(DEMO_TOPICS, name, DEMO_TOPICS["reference"])
    with pytest.raises(DemoTopicDiffers, match=rf"{name} .*has 3 partitions, the demo's has 2"):
        load_demo(broker, topics=[name])
