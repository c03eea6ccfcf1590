"""Each refusal, brought about for real: named, with range and remedy, and nothing is read or written."""

import time
from contextlib import AbstractContextManager
from dataclasses import replace

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations
from lakehouse.engines.kafka import client_config, create_topic, read_topic
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.protocol.commit import publish
from lakehouse.protocol.errors import Superseded
from lakehouse.steps.ingest.refusals import (
    ClusterChanged,
    PositionsDiffer,
    RetentionOvertook,
    RowsWithoutSeal,
    TopicRecreated,
    UnsealedCommit,
)
from lakehouse.steps.ingest.routes.applied_tables import NotApplied
from lakehouse.steps.ingest.step import ingest
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.steps.ingest.conftest import BY_KIND, Landing, MakeLanding, thing

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def retire(stream: Landing, before: int) -> None:
    """What retention does: delete the oldest records."""
    with AdminClient(client_config(stream.kafka)) as admin:
        for future in admin.delete_records([TopicPartition(stream.stream.topic, 0, before)]).values():
            future.result()


def recreate(stream: Landing) -> None:
    """Delete the topic and make one of the same name."""
    before = read_topic(stream.kafka, stream.stream.topic).topic_id
    with AdminClient(client_config(stream.kafka)) as admin:
        admin.delete_topics([stream.stream.topic])[stream.stream.topic].result()
    deadline = time.monotonic() + 60
    while create_topic(stream.kafka, stream.stream.topic, 1).topic_id == before:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def heads(stream: Landing) -> dict[str, int | None]:
    return {name: stream.load(name).metadata.current_snapshot_id for name in stream.declarations.tables}


@pytest.fixture
def stream(landing: MakeLanding) -> Landing:
    """Three records, read."""
    made = landing()
    made.send([thing(n) for n in range(3)])
    made.ingest()
    return made


def test_retention_overtook_the_position(stream: Landing) -> None:
    stream.send([thing(n) for n in range(3, 8)])
    retire(stream, 6)
    before = heads(stream)
    with pytest.raises(RetentionOvertook, match=r"partition 0 offsets \[3, 6\)") as refused:
        stream.ingest()
    assert refused.value.ranges == {0: (3, 6)}
    assert f"lakehouse accept-loss {stream.stream.name} --yes" in refused.value.remedy
    assert heads(stream) == before


def test_retention_of_what_was_read_is_no_loss(stream: Landing) -> None:
    stream.send([thing(3)])
    retire(stream, 2)
    stream.ingest()
    assert stream.holds().read == 4


def test_the_topic_was_deleted_and_made_anew(stream: Landing) -> None:
    recreate(stream)
    stream.send([thing(n) for n in range(10)])
    with pytest.raises(TopicRecreated, match=r"was recreated .*partition 0 offsets \[0, 3\)"):
        stream.ingest()


def test_the_topic_is_on_another_cluster(stream: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    import lakehouse.steps.ingest.step as module

    real = module.read_stream_topics
    monkeypatch.setattr(module, "read_stream_topics", lambda *asked: replace(real(*asked), cluster_id="another"))
    with pytest.raises(ClusterChanged, match="is on another cluster"):
        stream.ingest()


def test_rows_that_nobody_sealed(landing: MakeLanding) -> None:
    stream = landing()
    stream.send([thing(1)])
    write_by_hand(stream, 5)
    with pytest.raises(RowsWithoutSeal, match=r"raw\.things holds rows but no seal") as refused:
        stream.ingest()
    assert "never taken to be offset 0" in str(refused.value)
    assert stream.column("raw.things", "id") == [5]


def write_by_hand(stream: Landing, number: int) -> None:
    table = stream.load("raw.things")
    row = {
        "id": number,
        "text": None,
        "_kafka_topic": stream.stream.topic,
        "_kafka_partition": 0,
        "_kafka_offset": number,
        "_kafka_timestamp": 0,
    }
    table.append(pa.Table.from_pylist([row], schema=table.schema().as_arrow()))


def test_somebody_wrote_after_the_last_seal(stream: Landing) -> None:
    write_by_hand(stream, 7)
    snapshot = stream.load("raw.things").metadata.current_snapshot_id
    stream.send([thing(3)])
    with pytest.raises(UnsealedCommit, match=rf"raw\.things: snapshot\(s\) {snapshot}"):
        stream.ingest()


def test_one_table_was_rolled_back_alone(landing: MakeLanding) -> None:
    stream = landing(route=BY_KIND)
    stream.send([thing(1, kind="a")])
    stream.ingest()
    before = stream.load("raw.b").metadata.current_snapshot_id
    stream.send([thing(2, kind="b")])
    stream.ingest()
    assert before is not None
    stream.load("raw.b").manage_snapshots().set_current_snapshot(before).commit()
    stream.send([thing(3, kind="b")])
    with pytest.raises(PositionsDiffer, match=r"raw\.b at \{0: 1\}"):
        stream.ingest()


def test_a_table_that_lacks_a_declared_column(stream: Landing) -> None:
    columns = {c.name: c.type for c in stream.declarations.tables["raw.things"].own_columns[1:]}
    wider = declare(
        {"id": stream.declarations.tables["raw.things"].own_columns[0].type, **columns, "more": columns["text"]},
        name="raw.things",
    ).with_coordinates()
    tables = {**stream.declarations.tables, "raw.things": wider}
    stream.send([thing(3)])
    ahead = replace(stream, declarations=Declarations(tables, stream.declarations.streams, {}))
    with pytest.raises(NotApplied, match=r"raw\.things: .*more.*lakehouse apply"):
        ahead.ingest()


def test_the_topic_was_made_anew_while_it_was_read(stream: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    import lakehouse.steps.ingest.step as module

    stream.send([thing(3)])
    real = module.again
    monkeypatch.setattr(module, "again", lambda kafka, topic: replace(real(kafka, topic), topic_id="another"))
    with pytest.raises(TopicRecreated):
        stream.ingest()
    assert stream.column("raw.things", "id") == [0, 1, 2]


def test_retention_overtakes_while_it_is_read(stream: Landing) -> None:
    stream.send([thing(n) for n in range(3, 8)])
    before = heads(stream)

    def once_planned() -> AbstractContextManager[SparkSession]:
        retire(stream, 6)
        return stream.spark_on(stream.settings)

    with pytest.raises(RetentionOvertook, match=r"partition 0 offsets \[3, 6\)") as refused:
        ingest(replace(stream.step(), session=once_planned))
    assert refused.value.ranges == {0: (3, 6)}
    assert heads(stream) == before
    assert stream.column("raw.things", "id") == [0, 1, 2]


def test_of_two_runs_from_one_base_the_second_is_superseded(stream: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    import lakehouse.steps.ingest.step as module

    stream.send([thing(n) for n in range(3, 6)])
    twin = stream.step(run_id="twin")

    def after_the_twin(*args):
        monkeypatch.setattr(module, "publish", publish)
        ingest(twin)
        return publish(*args)

    monkeypatch.setattr(module, "publish", after_the_twin)
    with pytest.raises(Superseded):
        stream.ingest(run_id="slow")
    assert stream.column("raw.things", "id") == [0, 1, 2, 3, 4, 5]
    proof = stream.holds()
    assert (proof.read, proof.seals) == (6, 2)
    sealed = stream.load("raw.things").current_snapshot()
    assert sealed is not None
    assert sealed.summary is not None
    assert KafkaStatement.from_keys(
        {k.removeprefix("lakehouse."): v for k, v in sealed.summary.additional_properties.items()}
    )
    assert stream.ingest().published is None
