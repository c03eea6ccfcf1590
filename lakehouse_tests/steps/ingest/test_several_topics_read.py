"""Several real topics in one stream, read by Spark: one run, one publish, one proof."""

import json
import re

import pytest

from lakehouse.declarations import Stream, TopicPattern
from lakehouse.engines.kafka import Record, create_topic, send
from lakehouse_tests.steps.ingest.conftest import MakeLanding, thing

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def test_topics_that_match_are_read_together_and_one_that_comes_later_joins(landing: MakeLanding) -> None:
    made = landing(partitions=2)
    first = made.stream.topic
    stream = Stream(
        name="things", topics=TopicPattern(re.escape(first) + ".*"), route=made.stream.route, max_quarantine_share=1.0
    )
    several = made.declare(stream)
    made.send([thing(1)])
    made.send([thing(2), b"{"], partition=1)
    several.ingest()
    assert several.holds().read == 3

    second = f"{first}.later"
    create_topic(made.kafka, second, 1)
    send(made.kafka, second, [Record(json.dumps(thing(3)).encode(), partition=0)])
    made.send([thing(4)])
    report = several.ingest()
    assert report.rows == {"raw.things": 2}
    places = [
        (row["_kafka_topic"], row["_kafka_partition"], row["_kafka_offset"]) for row in several.rows("raw.things")
    ]
    assert sorted(places) == [(first, 0, 0), (first, 0, 1), (first, 1, 0), (second, 0, 0)]
    proof = several.holds()
    assert (proof.read, len(proof.position)) == (5, 3)
