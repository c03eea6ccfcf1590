"""`lakehouse simulate changes` against a broker: what is missing is sent, and nothing is sent twice."""

import re
from datetime import timedelta

import pytest
from confluent_kafka import Consumer, TopicPartition

from lakehouse.demo import Disorder, FlightChanges
from lakehouse.engines.kafka import Record, client_config, read_topic
from lakehouse.settings import KafkaSettings
from lakehouse_tests.cli.conftest import Lakehouse
from lakehouse_tests.fixtures.broker import TopicFactory

pytestmark = pytest.mark.kafka


@pytest.fixture
def simulate(broker: KafkaSettings, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> Lakehouse:
    monkeypatch.setenv("LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("LAKEHOUSE__KAFKA__LOCAL", "false")
    return lambda *words: lakehouse("simulate", "changes", *words)


def sent(output: str) -> int:
    match = re.search(r"([\d,]+) messages sent", output)
    assert match, output
    return int(match[1].replace(",", ""))


def records_of(kafka: KafkaSettings, topic: str) -> list[Record]:
    """All messages of a topic, partition by partition."""
    consumer = Consumer({**client_config(kafka), "group.id": "test", "auto.offset.reset": "earliest"})
    records: list[Record] = []
    for partition, limits in sorted(read_topic(kafka, topic).partitions.items()):
        consumer.assign([TopicPartition(topic, partition, 0)])
        left = limits.last_stable
        while left:
            messages = consumer.consume(left, timeout=60)
            assert messages, f"{left} messages of partition {partition} did not come"
            left -= len(messages)
            records += [Record(message.value(), message.key(), partition) for message in messages]
    consumer.close()
    return records


def expected(feed: FlightChanges) -> list[Record]:
    return sorted(feed.records(), key=lambda record: record.partition)


def test_a_history_is_sent_once_also_day_by_day(broker: KafkaSettings, simulate: Lakehouse, topic: TopicFactory):
    name = topic(partitions=4)
    words = ("--topic", name, "--flights", "1500")
    first = simulate(*words, "--days", "1")
    assert first.exit_code == 0, first.output
    rest = simulate(*words)
    assert sent(first.stdout) > 0 < sent(rest.stdout)
    assert sent(simulate(*words).stdout) == 0
    assert sent(simulate(*words, "--days", "2").stdout) == 0
    assert records_of(broker, name) == expected(FlightChanges(flights=1500))


def test_switches_do_what_they_say_and_a_new_topic_is_made(broker: KafkaSettings, simulate: Lakehouse):
    switches = ["--late", "0.2", "--duplicates", "0.1", "--out-of-order", "0.3", "--by", "24", "--seed", "5"]
    assert simulate("--topic", "as-dms", "--format", "dms", "--flights", "200", *switches).exit_code == 0
    disorder = Disorder(late=0.2, duplicates=0.1, out_of_order=0.3, by=timedelta(hours=24), seed=5)
    assert records_of(broker, "as-dms") == expected(FlightChanges(message_format="dms", flights=200, disorder=disorder))


def test_a_topic_may_be_cut_in_any_way(broker: KafkaSettings, simulate: Lakehouse, topic: TopicFactory):
    name = topic(partitions=3)
    assert simulate("--topic", name, "--flights", "100").exit_code == 0
    assert records_of(broker, name) == expected(FlightChanges(flights=100, partitions=3))


OTHERS = [
    ["--seed", "2"],
    pytest.param(["--format", "dms"], marks=pytest.mark.soak),
    pytest.param(["--flights", "150"], marks=pytest.mark.soak),
]


@pytest.mark.parametrize("other", OTHERS)
def test_a_topic_that_was_begun_with_other_switches_is_refused(
    broker: KafkaSettings, simulate: Lakehouse, topic: TopicFactory, other: list[str]
):
    name = topic(partitions=2)
    words = ["--topic", name, "--flights", "120", "--late", "0.5"]
    assert simulate(*words).exit_code == 0
    before = records_of(broker, name)
    answer = simulate(*words, *other)
    assert answer.exit_code == 2
    assert f"Topic {name} at {broker.bootstrap_servers} holds other changes than these" in answer.stderr
    assert "--topic" in answer.stderr
    assert records_of(broker, name) == before


@pytest.mark.parametrize("words", [["--late", "2"], ["--format", "avro"], ["--flights", "0"], ["--by", "-1"]])
def test_what_makes_no_sense_is_refused(lakehouse: Lakehouse, words: list[str]):
    assert lakehouse("simulate", "changes", *words).exit_code == 2


def test_a_broker_that_is_down_is_told_with_the_remedy(lakehouse: Lakehouse):
    answer = lakehouse("simulate", "changes", "--flights", "1")
    assert answer.exit_code == 2
    assert "lakehouse up" in answer.stderr
