"""Whatever the route, the proof balances: each record is in all of its tables once, or in quarantine."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.declarations import ByField, ByTopic, Route, Stream, ToAll, TopicPattern
from lakehouse.engines.kafka.statement import COPIES
from lakehouse_tests.steps.ingest.several_topics import SeveralTopics, several_topics

A, B, C = "raw.a", "raw.b", "raw.c"
ROUTES: Mapping[str, Route] = {
    "all": ToAll(A, B),
    "topic": ByTopic({"t1": A, re.compile("t[23]"): (B, C)}),
    "field": ByField("kind", {"a": A, "both": (A, B), re.compile("c.*"): C}),
}
KINDS = ("a", "both", "c1", "c2", "none")


def stream_of(route: Route, folder: Path, *, lenient: str = "") -> SeveralTopics:
    declared = Stream(name="things", topics=TopicPattern(".+"), route=route, max_quarantine_share=1.0)
    return several_topics(folder, declared, lenient=lenient)


def expected(route: str, topic: str, kind: str, good: bool) -> tuple[str, ...]:
    """Where a record belongs, by a rule of the test's own."""
    by_field = {"a": (A,), "both": (A, B), "c1": (C,), "c2": (C,)}
    by_topic = {"t1": (A,), "t2": (B, C)}
    tables = {"all": (A, B), "topic": by_topic.get(topic, ()), "field": by_field.get(kind, ())}[route]
    return tables if good and tables else ("quarantine.things",)


Records = st.lists(
    st.tuples(st.sampled_from(["t1", "t2", "x"]), st.sampled_from(KINDS), st.booleans()), min_size=1, max_size=12
)


@pytest.mark.parametrize("route", ROUTES)
@given(runs=st.lists(Records, min_size=1, max_size=2))
@settings(max_examples=5, deadline=None)
def test_the_proof_balances(route: str, runs: list[list[tuple[str, str, bool]]]) -> None:
    rows, read = Counter[str](), 0
    with TemporaryDirectory() as folder:
        stream = stream_of(ROUTES[route], Path(folder))
        for run in runs:
            arrived: dict[str, list[bytes | None]] = {}
            for number, (topic, kind, good) in enumerate(run):
                value = json.dumps({"kind": kind, "id": number if good else "none"}).encode()
                arrived.setdefault(topic, []).append(value)
                rows.update(expected(route, topic, kind, good))
            stream.run(arrived)
            read += len(run)
        assert stream.holds().read == read
        assert {name: stream.load(name).scan().to_arrow().num_rows for name in rows} == dict(rows)


def test_copies_are_sealed_and_the_counts_are_of_records(tmp_path: Path) -> None:
    stream = stream_of(ToAll(A, B), tmp_path)
    stream.run({"t": [b'{"id": 1}', b'{"id": 2}', b"{"]})
    statement = stream.position
    assert statement is not None
    assert (statement.counts.read, statement.counts.written, statement.counts.quarantined) == (3, 2, 1)
    assert {partition: tally.count for partition, tally in statement.totals[COPIES].items()} == {0: -2}


def test_a_row_that_is_in_one_of_its_tables_only_breaks_the_proof(tmp_path: Path) -> None:
    stream = stream_of(ToAll(A, B), tmp_path)
    stream.run({"t": [b'{"id": 1}', b'{"id": 2}']})
    stream.load(B).delete("id = 2")
    assert {finding.kind for finding in stream.audit().findings} >= {"rows_differ"}


def test_the_second_table_may_refuse_a_record(tmp_path: Path) -> None:
    route = ByField("kind", {"both": (A, B)})
    stream = stream_of(route, tmp_path, lenient=A)
    stream.run({"t": [b'{"kind": "both", "id": 1}', b'{"kind": "both"}']})
    assert stream.quarantined() == [(0, 1)]
    assert [len(stream.rows(name)) for name in (A, B)] == [1, 1]
    assert stream.holds().read == 2
