"""Refused records on a topic, as `docs/how-to/reprocess.md` has it: with Connect's headers, and once."""

import json
from typing import Any

import pytest

from lakehouse.declarations import Stream, ToTable
from lakehouse.engines.kafka import Record
from lakehouse.engines.kafka.records import StoredRecord
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.repair import dead_letters as module
from lakehouse.steps.ingest.repair.dead_letters import export_dead_letters, find_dead_letters, place_of
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.ingest.conftest import THINGS
from lakehouse_tests.steps.ingest.in_process import InProcess

KAFKA = KafkaSettings(bootstrap_servers="127.0.0.1:1")
HEADERS = json.dumps([{"key": "trace", "value": "YWJj"}])


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """A topic that is a list."""
    sent: list[Record] = []

    def send(kafka: KafkaSettings, name: str, records: list[Record]) -> int:
        sent.extend(records)
        return len(records)

    def values(*_: Any) -> list[StoredRecord]:
        return [StoredRecord(0, n, r.key, r.value, r.headers) for n, r in enumerate(sent)]

    monkeypatch.setattr(module, "read_topic", lambda *_: TopicState("dead", "c", "i", {0: PartitionRange(0, 99)}))
    monkeypatch.setattr(module, "record_values", values)
    monkeypatch.setattr(module, "send", send)
    return sent


def test_each_refused_record_is_sent_as_it_came_and_not_again(sql_lake: Lake, topic: list[Record]) -> None:
    stream = Stream(name="things", topic="things", route=ToTable("raw.things"), max_quarantine_share=1)
    things = InProcess(open_catalog(sql_lake.settings), stream)
    things.declare(declare(THINGS, name="raw.things").with_coordinates())
    good, broken = (None, b'{"id": 1}'), (b"key", b"broken")

    def export() -> tuple[int, int]:
        quarantine = read_bases(things.catalog, ["quarantine.things"])["quarantine.things"]
        letters = find_dead_letters(KAFKA, "things", quarantine, "dead")
        return export_dead_letters(KAFKA, "dead", letters), letters.present

    things.ingest({0: [good, broken], 1: [broken, (b"key", None)]}, headers=HEADERS)
    assert export() == (3, 0)
    first = min(topic, key=lambda record: place_of(record.headers) or ())
    assert (first.key, first.value, first.headers[0]) == (b"key", b"broken", ("trace", b"abc"))
    assert dict(first.headers)["__connect.errors.exception.class.name"] == b"not_json"
    assert place_of(first.headers) == (b"things", b"0", b"1")
    things.ingest({0: [broken]})
    assert export() == (1, 3)
    assert export() == (0, 4)


def test_the_last_headers_of_a_name_say_where_a_letter_is_from() -> None:
    twice = tuple((f"__connect.errors.{name}", b"1") for name in ("topic", "partition", "offset")) * 2
    assert place_of((*twice, ("__connect.errors.offset", b"7"))) == (b"1", b"1", b"7")
    assert place_of(twice[:2]) is None
