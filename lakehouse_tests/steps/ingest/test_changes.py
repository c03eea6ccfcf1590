"""Change messages from a real topic: every one is a row of one changelog or of the quarantine, once."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import BySource, Changelog, Debezium, Declarations, Stream, apply, plan, quarantine_table
from lakehouse.engines.kafka import Record, send
from lakehouse.protocol.catalog import open_catalog
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.repair.replay import replay
from lakehouse_tests.fixtures.broker import TopicFactory
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.ingest.conftest import Landing

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

COLUMNS = {"id": T.LongType(), "text": T.StringType(), "price": T.DecimalType(10, 2)}
MakeChanges = Callable[..., Landing]


@pytest.fixture
def changes(sql_lake: Lake, broker: KafkaSettings, topic: TopicFactory, spark_on: SparkOn) -> MakeChanges:
    """`changes({source: changelog})`: a stream of changes with a fresh topic and fresh changelogs."""

    def make(routes: dict[str | None, str]) -> Landing:
        name = topic(1)
        row = pandera.DataFrameSchema({n: pandera.Column(kind, nullable=True) for n, kind in COLUMNS.items()})
        logs = {
            table: Changelog(
                name=table, topic=name, row=row, key=("id",), description="a thing", owner="tests", source=source
            )
            for source, table in routes.items()
        }
        stream = Stream(name="things", topic=name, route=BySource(routes), format=Debezium(), max_quarantine_share=1.0)
        catalog = open_catalog(sql_lake.settings)
        tables = {log.name: log.table for log in logs.values()}
        tables[stream.quarantine_table] = quarantine_table(stream, "tests")
        for table in tables.values():
            apply(plan(table, catalog), catalog)
        declared = Declarations(tables, {stream.name: stream}, {}, changelogs=logs)
        return Landing(stream, declared, catalog, broker, sql_lake.settings, spark_on)

    return make


def change(operation: str, number: int | None = None, *, table: str = "things", lsn: int = 200, **row: Any) -> bytes:
    """A message of Debezium's PostgreSQL connector."""
    image = None if number is None else {"id": number, "text": f"thing {number}", "price": "AJY=", **row}
    return json.dumps(
        {
            "before": image if operation == "d" else None,
            "after": None if operation == "d" else image,
            "source": {
                "connector": "postgresql",
                "schema": "public",
                "table": table,
                "sequence": f'["100","{lsn}"]',
                "lsn": lsn,
                "txId": 7,
                "ts_ms": 1_767_225_600_000,
                "ts_us": 1_767_225_600_000_123,
            },
            "op": operation,
        }
    ).encode()


def key(number: int, **more: Any) -> bytes:
    return json.dumps({"id": number, **more}).encode()


MOVED = (("__debezium.newkey", key(9)),)
ALL_KINDS = [
    Record(change("r", 1), key(1)),
    Record(change("c", 2), key(2)),
    Record(change("u", 2, lsn=201, text="__debezium_unavailable_value"), key(2)),
    Record(change("d", 2, lsn=202), key(2), headers=MOVED),
    Record(None, key(2)),
    Record(change("t", lsn=203)),
    Record(json.dumps({"status": "BEGIN", "id": "7:100", "ts_ms": 5}).encode(), b'{"id":"7"}'),
    Record(change("c", 3, lsn=204, color="red"), key(3)),
    Record(change("x", 3), key(3)),
    Record(b"{", key(3)),
    Record(None, None),
    Record(change("u", None, lsn=205), key(4)),
]


def send_all(stream: Landing, records: list[Record]) -> None:
    send(stream.kafka, stream.stream.topic, records)


def test_every_kind_of_message_is_a_row_of_the_changelog_or_of_the_quarantine_once(changes: MakeChanges) -> None:
    stream = changes({None: "cdc.things"})
    send_all(stream, ALL_KINDS)
    report = stream.ingest()
    assert (report.counts.read, report.counts.written, report.counts.quarantined) == (12, 9, 3)
    rows = stream.rows("cdc.things")
    assert [(row["_kafka_offset"], row["operation"]) for row in rows] == [
        *enumerate(["read", "insert", "update", "delete", "tombstone", "truncate", "control", "insert"]),
        (10, "control"),
    ]
    assert [row["position"] and tuple(row["position"].values()) for row in rows] == [
        (0, 0, 200),
        (0, 100, 200),
        (0, 100, 201),
        (0, 100, 202),
        None,
        (0, 100, 203),
        None,
        (0, 100, 204),
        None,
    ]
    assert [row["key"] and row["key"]["id"] for row in rows] == [1, 2, 2, 2, 2, None, None, 3, None]
    assert rows[2]["unavailable"] == ["text"]
    assert rows[3]["other_key"] == {"id": 9}
    assert rows[3]["before"]["text"] == "thing 2"
    assert rows[7]["extra"] == '{"color":"red"}'
    assert stream.quarantined() == [
        (8, "unknown_operation"),
        (9, "not_json"),
        (11, "missing_field"),
    ]
    counted = {"control": 2, "delete": 1, "insert": 2, "read": 1, "tombstone": 1, "truncate": 1, "update": 1}
    for name in (*stream.stream.tables, stream.stream.quarantine_table):
        seal = stream.load(name).metadata.current_snapshot()
        assert seal is not None
        assert seal.summary is not None
        operations = seal.summary["lakehouse.changes.operations"]
        assert msgspec.json.decode(operations or "") == {"cdc.things": counted}

    assert stream.holds().read == 12
    assert stream.ingest().published is None
    assert len(stream.rows("cdc.things")) == 9
    assert all(comparison.equal for comparison in replay(stream.step(run_id="again"), {0: (0, 12)}))


def test_two_changelogs_share_a_topic_and_each_gets_its_own(changes: MakeChanges) -> None:
    stream = changes({"public.things": "cdc.things", "public.others": "cdc.others"})
    of_others = {"schema": {"name": "shop.public.others.Key"}, "payload": {"id": 2}}
    send_all(
        stream,
        [
            Record(change("c", 1), key(1)),
            Record(change("c", 2, table="others"), key(2)),
            Record(change("d", 2, table="others", lsn=201), key(2)),
            Record(None, json.dumps(of_others).encode()),
            Record(None, key(1)),
            Record(change("c", 3, table="strangers"), key(3)),
            Record(b'{"ts_ms":1}', b'{"serverName":"shop"}'),
        ],
    )
    report = stream.ingest()
    assert report.rows == {"cdc.things": 2, "cdc.others": 3, stream.stream.quarantine_table: 2}
    assert stream.column("cdc.things", "operation") == ["insert", "control"]
    assert stream.column("cdc.others", "operation") == ["insert", "delete", "tombstone"]
    assert stream.column("cdc.others", "source") == ["public.others", "public.others", None]
    assert stream.quarantined() == [(4, "unknown_source"), (5, "unknown_source")]
    assert stream.holds().read == 7
    assert stream.ingest().published is None
