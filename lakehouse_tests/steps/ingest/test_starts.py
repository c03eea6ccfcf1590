"""Where a stream begins the first time, and what happens when partitions or transactions come into play."""

import time
from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from lakehouse.declarations import Start
from lakehouse.engines.kafka import client_config
from lakehouse.steps.ingest.refusals import StartNotInLog
from lakehouse_tests.steps.ingest.conftest import Landing, MakeLanding, thing

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def test_earliest(landing: MakeLanding) -> None:
    stream = landing(start=Start.earliest())
    stream.send([thing(1), thing(2)])
    stream.ingest()
    assert stream.column("raw.things", "id") == [1, 2]


def test_latest_begins_with_what_arrives_after_the_first_run(landing: MakeLanding) -> None:
    stream = landing(start=Start.latest())
    stream.send([thing(1), thing(2)])
    stream.ingest()
    assert stream.column("raw.things", "id") == []
    stream.send([thing(3)])
    stream.ingest()
    assert stream.column("raw.things", "id") == [3]
    assert stream.holds().position == {0: 3}


def test_a_moment(landing: MakeLanding) -> None:
    early = landing()
    early.send([thing(1)])
    time.sleep(0.05)
    moment = datetime.now(UTC)
    time.sleep(0.05)
    early.send([thing(2)])
    stream = early.declare(
        type(early.stream)(
            name="things", topic=early.stream.topic, route=early.stream.route, start=Start.timestamp(moment)
        )
    )
    stream.ingest()
    assert stream.column("raw.things", "id") == [2]
    assert stream.holds().read == 1


def test_given_offsets_and_the_beginning_of_other_partitions(landing: MakeLanding) -> None:
    stream = landing(partitions=2, start=Start.offsets({0: 2}))
    stream.send([thing(n) for n in range(4)])
    stream.send([thing(9)], partition=1)
    stream.ingest()
    assert stream.column("raw.things", "id") == [2, 3, 9]
    assert stream.holds().read == 3


def test_offsets_that_are_not_in_the_log(landing: MakeLanding) -> None:
    outside = landing(start=Start.offsets({0: 2}))
    outside.send([thing(1)])
    with pytest.raises(StartNotInLog, match=r"partition 0 offsets \[2, 3\)"):
        outside.ingest()


def test_partitions_that_are_added_later_are_read_from_their_beginning(landing: MakeLanding) -> None:
    stream = landing(start=Start.latest())
    stream.ingest()
    with AdminClient(client_config(stream.kafka)) as admin:
        admin.create_partitions([NewPartitions(stream.stream.topic, 3)])[stream.stream.topic].result()
        deadline = time.monotonic() + 60
        while len(admin.list_topics(stream.stream.topic).topics[stream.stream.topic].partitions) < 3:
            assert time.monotonic() < deadline
    stream.send([thing(1)])
    stream.send([thing(2), thing(3)], partition=2)
    stream.ingest()
    assert stream.column("raw.things", "id") == [1, 2, 3]
    assert stream.holds().position == {0: 1, 1: 0, 2: 2}


def transactional(stream: Landing, name: str) -> Producer:
    producer = Producer({**client_config(stream.kafka), "transactional.id": f"{stream.stream.topic}-{name}"})
    producer.init_transactions(20)
    return producer


def put(producer: Producer, stream: Landing, numbers: range) -> None:
    for n in numbers:
        producer.produce(stream.stream.topic, f'{{"id": {n}}}', partition=0)
    producer.flush(20)


def test_aborted_records_are_not_read_and_their_offsets_are_no_loss(landing: MakeLanding) -> None:
    stream = landing()
    producer = transactional(stream, "one")
    for numbers, end in ((range(3), "commit"), (range(3, 6), "abort"), (range(6, 8), "commit")):
        producer.begin_transaction()
        put(producer, stream, numbers)
        producer.commit_transaction(20) if end == "commit" else producer.abort_transaction(20)
    report = stream.ingest()
    assert stream.column("raw.things", "id") == [0, 1, 2, 6, 7]
    assert report.counts.read == 5
    proof = stream.holds()
    assert (proof.read, proof.invisible, proof.position) == (5, 6, {0: 11})
    assert (report.without_record, report.because) == ({0: 6}, "transactions")
    assert proof.invisible_because.startswith("6: producers write in transactions")
    assert stream.ingest().published is None


def test_an_open_transaction_is_waited_for(landing: MakeLanding) -> None:
    stream = landing()
    stream.send([thing(100)])
    producer = transactional(stream, "open")
    producer.begin_transaction()
    put(producer, stream, range(2))
    stream.send([thing(200)])
    report = stream.ingest()
    assert stream.column("raw.things", "id") == [100]
    assert report.ranges == {0: (0, 1)}
    producer.commit_transaction(20)
    stream.ingest()
    assert stream.column("raw.things", "id") == [100, 0, 1, 200]
    assert stream.holds().read == 4


def test_more_tasks_than_partitions_read_each_record_once(landing: MakeLanding) -> None:
    stream = landing()
    stream.send([thing(n) for n in range(200)])
    stream.ingest(min_partitions=8)
    assert len(list(stream.load("raw.things").scan().plan_files())) == 8
    assert stream.column("raw.things", "id") == list(range(200))
    proof = stream.holds()
    assert [(r.rows, r.decided_by) for r in proof.ranges] == [(200, "manifests")]
