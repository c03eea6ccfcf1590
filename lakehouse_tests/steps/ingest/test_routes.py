"""A topic with several kinds of records: each is decoded once and all tables change in one publish."""

import pytest

from lakehouse.declarations import ByField
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.formats.json import RoutedDecoder
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import last_seal
from lakehouse.steps.ingest.step import make_plan
from lakehouse.steps.ingest.workers.scan import kafka_frame
from lakehouse.steps.ingest.workers.work import IngestWork, make_task
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.steps.ingest.conftest import BY_KIND, MakeLanding, thing

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def test_records_go_where_their_field_says_and_the_rest_to_quarantine(landing: MakeLanding) -> None:
    stream = landing(route=BY_KIND, partitions=2)
    stream.send([thing(1, kind="a"), thing(2, kind="b"), thing(3, kind="c"), thing(4), b"{", None])
    stream.send([thing(5, kind="b")], partition=1)
    report = stream.ingest()
    assert stream.column("raw.a", "id") == [1]
    assert stream.column("raw.b", "id") == [2, 5]
    assert stream.quarantined() == [(2, "unknown_route"), (3, "unknown_route"), (4, "not_json"), (5, "tombstone")]
    assert report.rows == {"raw.a": 1, "raw.b": 2, "quarantine.things": 4}
    assert stream.holds().read == 7


def test_one_publish_changes_all_tables_and_each_carries_the_same_statement(landing: MakeLanding) -> None:
    stream = landing(route=BY_KIND)
    stream.send([thing(1, kind="a")])
    report = stream.ingest()
    assert report.published is not None
    assert set(report.published.snapshots) == {"raw.a", "raw.b", "quarantine.things"}
    sealed = {name: last_seal(stream.load(name)) for name in stream.declarations.tables}
    statements = [KafkaStatement.from_keys(newest.seal.statement) for newest in sealed.values() if newest]
    assert len(statements) == 3
    assert statements[0] == statements[1] == statements[2]
    assert {name: newest.snapshot_id for name, newest in sealed.items() if newest} == report.published.snapshots
    assert all(list(stream.load(name).metadata.refs) == ["main"] for name in sealed)


def test_each_record_is_fetched_and_decoded_once_however_many_tables_there_are(
    landing: MakeLanding, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = landing(route=ByField("kind", {kind: f"raw.{kind}" for kind in "abcde"}))
    stream.send([thing(n, kind="abcde"[n % 5]) for n in range(50)])
    step = stream.step()
    bases = read_bases(stream.catalog, step.tables)
    plan = make_plan(step, bases)
    task = make_task(IngestWork(plan, stream.stream, stream.declarations, bases, step.attempt), set())
    with stream.spark_on(stream.settings) as spark:
        frame = kafka_frame(spark, stream.kafka, plan, min_partitions=1)
        batches = frame.toArrow().to_batches()
        job = frame.mapInArrow(task.run, "report binary")._jdf.queryExecution().executedPlan().toString()
    assert (job.count("MapInArrow"), job.count("BatchScan")) == (1, 1)

    decoded: list[int] = []
    decode = RoutedDecoder.decode
    monkeypatch.setattr(
        RoutedDecoder, "decode", lambda self, values: decoded.append(len(values)) or decode(self, values)
    )
    assert len(list(task.run(iter(batches)))) == 1
    assert sum(decoded) == 50


def test_a_table_added_to_a_running_stream_joins_at_its_position(landing: MakeLanding) -> None:
    stream = landing(route=ByField("kind", {"a": "raw.a"}))
    stream.send([thing(1, kind="a"), thing(2, kind="b")])
    stream.ingest()
    assert stream.quarantined() == [(1, "unknown_route")]

    tables = [declare({"id": stream.declarations.tables["raw.a"].own_columns[0].type}, name=n) for n in ("raw.b",)]
    more = stream.declare(
        type(stream.stream)(name="things", topic=stream.stream.topic, route=BY_KIND, max_quarantine_share=1.0),
        stream.declarations.tables["raw.a"],
        *tables,
    )
    more.send([thing(3, kind="b"), thing(4, kind="a")])
    report = more.ingest()
    assert report.rows == {"raw.a": 1, "raw.b": 1}
    assert more.column("raw.b", "id") == [3]
    assert more.holds().read == 4
    more.send([thing(5, kind="b")])
    more.ingest()
    assert more.holds().read == 5
