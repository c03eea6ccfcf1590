"""A sink of Kafka Connect that was stopped between writing files and committing them is not taken over from its group.

Guarded mechanism: the files that are announced on the control topic after what the table has.
"""

import io
import json
import struct
from dataclasses import dataclass

import fastavro
import pytest
from pyiceberg.table import Table

from lakehouse.engines.kafka.records import StoredRecord
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.repair import connect_sink as module
from lakehouse.steps.ingest.repair.connect_sink import (
    FilesAnnounced,
    NoEvent,
    SinkPosition,
    read_event,
    require_committed,
)

KAFKA = KafkaSettings(bootstrap_servers="127.0.0.1:1")
GROUP = "connect-birds"
START_COMMIT, DATA_WRITTEN, COMMIT_COMPLETE = 0, 1, 4
FIELDS = [
    {"name": "id", "type": {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"}},
    {"name": "type", "type": "int"},
    {"name": "timestamp", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "groupId", "type": "string"},
]


def event(kind: int, group: str = GROUP) -> bytes:
    """As the sink writes it; the payload, which nobody of ours reads, is of a type that fastavro does not know."""
    written = io.BytesIO()
    record = {"id": bytes(16), "type": kind, "timestamp": 0, "groupId": group}
    plain = [{**FIELDS[0], "type": {"type": "fixed", "name": "uuid_fixed", "size": 16}}, *FIELDS[1:]]
    fastavro.schemaless_writer(written, {"type": "record", "name": "event", "fields": plain}, record)
    payload = {"name": "payload", "type": {"type": "record", "name": "made_in_java", "fields": []}}
    schema = json.dumps({"type": "record", "name": "event", "fields": [*FIELDS, payload]}).encode()
    return b"\xc2\x01" + struct.pack(">H", len(schema)) + schema + written.getvalue() + b"payload"


@dataclass
class _Summary:
    additional_properties: dict[str, str]


@pytest.fixture
def committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table has what was announced before offset 5 of the control topic."""
    keys = {f"kafka.connect.offsets.control.birds.{GROUP}": '{"0":5}', "kafka.connect.commit-id": "x"}
    monkeypatch.setattr(module, "head_of", lambda table: 1)
    monkeypatch.setattr(module, "ancestry", lambda table, head: [{"no": "key"}, keys])
    monkeypatch.setattr(module, "summary_of", lambda snapshot: snapshot)
    monkeypatch.setattr(module, "table_name", lambda table: "raw.birds")
    topic = TopicState("control.birds", "cluster", "id", {0: PartitionRange(0, 9)})
    monkeypatch.setattr(module, "read_topic", lambda kafka, topic_name: topic)


def require(monkeypatch: pytest.MonkeyPatch, *events: bytes, group: str = GROUP) -> SinkPosition | None:
    def values(kafka: KafkaSettings, topic: str, ranges: object) -> list[StoredRecord]:
        assert (topic, ranges) == ("control.birds", {0: (5, 9)})
        return [StoredRecord(0, 5 + n, None, value) for n, value in enumerate(events)]

    monkeypatch.setattr(module, "record_values", values)
    return require_committed(KAFKA, Table.__new__(Table), group)


@pytest.mark.usefixtures("committed")
def test_all_that_was_announced_is_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    others = (event(COMMIT_COMPLETE), event(START_COMMIT), event(DATA_WRITTEN, "connect-another"))
    assert require(monkeypatch, *others) == SinkPosition("control.birds", {0: 5})


@pytest.mark.usefixtures("committed")
def test_files_that_no_snapshot_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FilesAnnounced, match=r"announced 2 files on control\.birds"):
        require(monkeypatch, event(DATA_WRITTEN), event(START_COMMIT), event(DATA_WRITTEN))


@pytest.mark.usefixtures("committed")
def test_a_table_that_no_sink_of_this_group_has_written() -> None:
    assert require_committed(KAFKA, Table.__new__(Table), "connect-another") is None


def test_what_is_no_event() -> None:
    assert read_event(event(DATA_WRITTEN))["type"] == DATA_WRITTEN
    for broken in (b"", b"{}", event(DATA_WRITTEN)[:40], b"\xc2\x01\x00\x02[]"):
        with pytest.raises(NoEvent, match="no event of the Iceberg sink"):
            read_event(broken)
