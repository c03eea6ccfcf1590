"""Several topics in one stream: one position, one publish, one proof, by topic and partition."""

from dataclasses import replace
from pathlib import Path

import pytest

from lakehouse.engines.kafka.loss_ledger import AcceptedLoss
from lakehouse.engines.kafka.several_topics.topic_numbers import STRIDE
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.plan import plan_range
from lakehouse.steps.ingest.refusals import TopicRecreated
from lakehouse.steps.ingest.repair.loss import plan_loss
from lakehouse.steps.ingest.topic_identity import require_same_log
from lakehouse_tests.steps.ingest.several_topics import SeveralTopics, several_topics


@pytest.fixture
def stream(tmp_path: Path) -> SeveralTopics:
    return several_topics(tmp_path)


def places(stream: SeveralTopics, table: str = "raw.things") -> list[tuple[object, ...]]:
    rows = stream.rows(table, "_kafka_topic", "_kafka_partition", "_kafka_offset")
    return sorted(tuple(row.values()) for row in rows)


def test_rows_of_the_same_offsets_are_told_apart_by_their_topic(stream: SeveralTopics) -> None:
    stream.run({"a": [b'{"id": 1}', b"{"], "b": [b'{"id": 2}', b'{"id": 3}']})
    assert places(stream) == [("a", 0, 0), ("b", 0, 0), ("b", 0, 1)]
    assert places(stream, "quarantine.things") == [("a", 0, 1)]
    proof = stream.holds()
    assert (proof.position, proof.read) == ({0: 2, STRIDE: 2}, 4)


def test_a_topic_that_comes_later_joins_from_its_beginning(stream: SeveralTopics) -> None:
    stream.run({"b": [b'{"id": 1}']})
    stream.run({"a": [b'{"id": 2}'], "b": [b'{"id": 3}']})
    assert stream.position is not None
    assert stream.position.numbers.labelled(stream.position.end) == {"b:0": 2, "a:0": 1}
    assert stream.holds().read == 3


def test_a_topic_that_is_gone_keeps_its_rows_and_its_position(stream: SeveralTopics) -> None:
    stream.run({"a": [b'{"id": 1}'], "b": [b'{"id": 2}']})
    del stream.logs["a"]
    stream.run({"b": [b'{"id": 3}']})
    assert places(stream) == [("a", 0, 0), ("b", 0, 0), ("b", 0, 1)]
    assert stream.holds().position == {0: 1, STRIDE: 2}


def test_a_row_under_the_wrong_topic_breaks_the_proof(stream: SeveralTopics) -> None:
    stream.run({"a": [b'{"id": 1}', b'{"id": 2}'], "b": [b'{"id": 3}']})
    table = stream.load("raw.things")
    with table.transaction() as transaction:
        rows = table.scan().to_arrow()
        wrong = rows.set_column(1, rows.schema.field(1), [["b"] * rows.num_rows])
        transaction.overwrite(wrong)
    kinds = {finding.kind for finding in stream.audit(scan=True).findings}
    assert "rows_differ" in kinds


def test_records_of_several_topics_are_taken_up_again(stream: SeveralTopics) -> None:
    stream.run({"a": [b"{", b'{"id": 1}'], "b": [b'{"id": 2}', b'{"id": -1, "more": {}}']})
    table = stream.load("quarantine.things")
    assert table.scan().to_arrow().num_rows == 1
    reprocessing = stream.find()
    assert (dict(reprocessing.refused), reprocessing.count) == ({"not_json": 1}, 0)
    # As if the decoder had been corrected: what is at this place is acceptable now.
    assert stream.find({0: [(0, 1)]}).refused == {"not_json": 1}


def test_a_topic_that_was_made_anew_stops_the_stream_and_is_named(stream: SeveralTopics) -> None:
    stream.run({"a": [b'{"id": 1}'], "b": [b'{"id": 2}']})
    stream.ids["b"] = "another"
    previous = stream.position
    with pytest.raises(TopicRecreated, match=r"topic b was recreated .*partition b:0 offsets \[0, 1\)"):
        plan_range("things", previous, stream.topic(previous), first={}, max_records=9)
    loss = plan_loss("things", previous, stream.topic(previous), new_epoch=True)
    assert loss.statement.end == {0: 1, STRIDE: 0}, "a goes on where it stood, b begins anew"
    assert loss.statement.numbers.ids == {"id-a", "another"}


def test_what_is_given_up_in_one_topic_is_not_given_up_in_another(stream: SeveralTopics) -> None:
    stream.run({"a": [b'{"id": 1}'], "b": [b'{"id": 2}']})
    previous = stream.position
    assert previous is not None
    stream.logs["a"][0], stream.logs["b"][0] = 5, 5
    ledger = (AcceptedLoss("id-b", {STRIDE: [(1, 3)]}, "because", "run", 1),)
    planned = plan_range("things", replace(previous, losses=ledger), stream.topic(previous), first={}, max_records=100)
    assert planned.end == {0: 5, STRIDE: 3}
    assert planned.skipped == {STRIDE: (1, 3)}


def test_a_stream_of_one_topic_becomes_one_of_several(stream: SeveralTopics) -> None:
    stream.run({"b": [b'{"id": 1}']})
    previous = stream.position
    assert previous is not None
    alone = replace(previous, topics=(), topic="b")
    stream.logs["a"] = {0: 4}
    topic = stream.topic(alone)
    require_same_log("things", alone, topic)
    assert plan_range("things", alone, topic, first={}, max_records=100).ranges == {STRIDE: (0, 4)}
    assert len(read_bases(stream.catalog, stream.tables)) == 2
