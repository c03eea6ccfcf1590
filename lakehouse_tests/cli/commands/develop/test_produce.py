import pytest

from lakehouse.cli.commands.develop.produce import UnreadTopic, refuse_unread
from lakehouse.engines.kafka import PartitionRange, create_topic, read_topic, topic_names
from lakehouse.settings import KafkaSettings
from lakehouse_tests.cli.conftest import Lakehouse
from lakehouse_tests.fixtures.broker import TopicFactory

pytestmark = pytest.mark.kafka


@pytest.fixture
def on_broker(broker: KafkaSettings, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> Lakehouse:
    monkeypatch.setenv("LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("LAKEHOUSE__KAFKA__LOCAL", "false")
    return lakehouse


def test_lines_of_standard_input_become_messages_of_a_new_topic(broker: KafkaSettings, on_broker: Lakehouse):
    lines = '{"a": 1}\n\n{"a": 2}\r\n'
    refused = on_broker("produce", "by-hand", "--file", "-", "--partitions", "1", stdin=lines)
    assert refused.exit_code == 2
    assert "No declared stream reads topic by-hand; the nearest topic that one reads is" in refused.stderr
    assert "by-hand" not in topic_names(broker), "a name that was mistyped is no topic"
    result = on_broker("produce", "by-hand", "--file", "-", "--partitions", "1", "--unread", stdin=lines)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"2 messages sent to {broker.bootstrap_servers}\n"
    assert read_topic(broker, "by-hand").partitions == {0: PartitionRange(0, 2)}


def test_lines_of_a_file_go_to_a_topic_as_it_is(
    broker: KafkaSettings, on_broker: Lakehouse, topic: TopicFactory, tmp_path
):
    name = topic(partitions=2)
    (tmp_path / "lines.jsonl").write_text("1\n2\n3\n")
    result = on_broker("produce", name, "--file", str(tmp_path / "lines.jsonl"), "--partitions", "9", "--unread")
    assert result.exit_code == 0
    partitions = read_topic(broker, name).partitions
    assert len(partitions) == 2
    assert sum(limits.last_stable for limits in partitions.values()) == 3


def test_a_topic_that_no_stream_reads_is_refused_with_the_one_that_may_be_meant():
    declared = ["flight_changes", "flights", "reference"]
    refuse_unread("flights", declared)
    with pytest.raises(UnreadTopic, match=r"topic fligths; the nearest topic that one reads is flights.*--unread"):
        refuse_unread("fligths", declared)
    with pytest.raises(UnreadTopic, match="topic mine; no stream is declared"):
        refuse_unread("mine", [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope"], "not a topic of the demo"),
        (["reference", "--days", "1"], "has no days"),
        (["--file", "-"], "needs a topic"),
        (["mine", "--file", "/no/such/file"], "is not a file"),
        (["mine", "--avro", "x.avsc"], "a schema the --file whose lines it encodes"),
        (["mine", "--protobuf", "x.proto"], "a schema the --file whose lines it encodes"),
        (["mine", "--file", "-", "--avro", "x", "--protobuf", "x"], "a schema the --file whose lines it encodes"),
        (["mine", "--file", "-", "--compress"], "--registry and --compress need --register"),
        (["mine", "--file", "-", "--register"], "--register and --message need a schema"),
        (["mine", "--file", "-", "--avro", "/no/such.avsc"], "/no/such.avsc is not a file"),
        (["mine", "--file", "-", "--avro", "{schema}", "--register"], "the settings name no registry"),
    ],
)
def test_what_cannot_be_sent_is_told(lakehouse: Lakehouse, words: list[str], message: str, tmp_path):
    schema = tmp_path / "mine.avsc"
    schema.write_text('{"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}]}')
    result = lakehouse("produce", *(word.format(schema=schema) for word in words), stdin="{}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_broker_that_is_down_is_told_with_the_remedy(lakehouse: Lakehouse):
    result = lakehouse("produce", "flights", "--days", "1")
    assert result.exit_code == 2
    assert "127.0.0.1:1" in result.stderr
    assert "lakehouse up" in result.stderr


def test_a_demo_topic_cut_otherwise_is_refused(broker: KafkaSettings, on_broker: Lakehouse, topic, monkeypatch):
    from lakehouse.demo import DEMO_TOPICS

    name = topic(partitions=1)
    monkeypatch.setitem(DEMO_TOPICS, name, DEMO_TOPICS["reference"])
    create_topic(broker, name, 1)
    result = on_broker("produce", name)
    assert result.exit_code == 2
    assert "1 partitions" in result.stderr
