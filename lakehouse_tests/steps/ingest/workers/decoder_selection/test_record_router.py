"""Which tables a record goes to, by topic, header or field, and that it goes to all of them or to none."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest

from lakehouse.engines.kafka.several_topics.topic_numbers import STRIDE, TopicNumbers
from lakehouse.formats.decoded import Decoded, Observed
from lakehouse.formats.headers import Header, write_headers
from lakehouse.formats.json import JsonDecoder
from lakehouse.formats.verdict import RecordError
from lakehouse.steps.ingest.workers.decoder_selection.record_router import (
    Choice,
    RecordRouter,
    copied_rows,
    whole_or_none,
)

TOPICS = TopicNumbers((("orders.eu", "i"), ("returns", "j")), many=True)
SINGLE_TOPIC = TopicNumbers((("orders", "i"),))


def values(schema: pa.Schema):
    decoder = JsonDecoder(schema)

    def decode(records: pa.RecordBatch) -> Decoded:
        return decoder.decode(records.column("value"))

    return decode


ID = values(pa.schema([pa.field("id", pa.int64(), nullable=False)]))
TEXT = values(pa.schema([pa.field("text", pa.string(), nullable=False)]))
KIND = values(pa.schema([pa.field("kind", pa.string())]))


def batch(*records: object, partitions: list[int] | None = None, headers: list[str | None] | None = None):
    raw = [r if isinstance(r, bytes) else json.dumps(r).encode() for r in records]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(raw, pa.binary()),
            pa.array(headers or [None] * len(raw), pa.string()),
            pa.array(partitions or [0] * len(raw), pa.int32()),
        ],
        names=["value", "headers", "partition"],
    )


def routed(router: RecordRouter, records: pa.RecordBatch, topics: TopicNumbers = SINGLE_TOPIC):
    errors: dict[int, RecordError] = {}
    parts, observed = router.decode(records, topics, errors)
    rows = {table: list(range(records.num_rows)) if r is None else r.tolist() for table, r, _ in parts}
    return rows, {row: error.error_class for row, error in errors.items()}, observed


def test_exact_values_come_before_expressions_and_those_in_their_order() -> None:
    choice = Choice(
        {"a.b": ("exact",)}, [(re.compile("a[.].*"), ("first",)), (re.compile("a.*", re.I), ("second", "third"))]
    )
    assert [choice.tables(value) for value in ("a.b", "a.c", "ABC", "xa.b")] == [
        ("exact",),
        ("first",),
        ("second", "third"),
        (),
    ]


def test_by_topic() -> None:
    router = RecordRouter(Choice({"returns": ("b",)}, [(re.compile("orders[.].+"), ("a",))]), {"a": ID, "b": ID})
    rows, errors, _ = routed(router, batch({"id": 1}, {"id": 2}, b"{", partitions=[0, STRIDE, STRIDE + 3]), TOPICS)
    assert (rows, errors) == ({"a": [0], "b": [1]}, {2: "not_json"})


def test_by_header_the_last_of_a_name_counts() -> None:
    def header(*kinds: bytes | None) -> str:
        return write_headers([Header("kind", kind) for kind in kinds])

    router = RecordRouter(Choice({"x": ("a",)}), {"a": ID}, header="kind")
    headers = [header(b"x"), header(b"x", b"y"), None, header(None), header(b"\xff")]
    rows, errors, _ = routed(router, batch(*[{"id": n} for n in range(5)], headers=headers))
    assert rows == {"a": [0]}
    assert errors == dict.fromkeys((1, 2, 3, 4), "unknown_route")


def test_by_field_also_where_the_table_does_not_have_it() -> None:
    router = RecordRouter(
        Choice({}, [(re.compile("x.*"), ("a", "b"))]), {"a": ID, "b": TEXT}, field="kind", field_of=KIND
    )
    records = batch({"kind": "xy", "id": 1, "text": "t"}, {"kind": "xy", "id": 2}, {"kind": "z"}, {"id": 3}, b"{")
    rows, errors, observed = routed(router, records)
    assert rows == {"a": [0, 1], "b": [0]}
    assert errors == {1: "missing_field", 2: "unknown_route", 3: "unknown_route", 4: "not_json"}
    assert "kind" not in observed.extra


def test_every_record_to_all() -> None:
    rows, errors, _ = routed(RecordRouter(None, {"a": ID, "b": ID}), batch({"id": 1}, {"id": 2}))
    assert (rows, errors) == ({"a": [0, 1], "b": [0, 1]}, {})


@pytest.mark.parametrize("rows", [None, np.array([0, 1, 2])])
def test_a_record_that_one_table_refuses_goes_to_none(rows: np.ndarray | None) -> None:
    columns = pa.RecordBatch.from_pydict({"id": [0, 1, 2]})
    refused = {1: RecordError("rule", "no")}
    other = pa.RecordBatch.from_pydict({"id": [0, 2]})
    kept = whole_or_none([("a", rows, columns), ("b", np.array([0, 2]), other)], refused)
    assert [(table, r.tolist(), c.column("id").to_pylist()) for table, r, c in kept if r is not None] == [
        ("a", [0, 2], [0, 2]),
        ("b", [0, 2], [0, 2]),
    ]
    assert copied_rows(kept, 3).tolist() == [0, 2]


def test_a_schema_that_only_the_choosing_field_names_is_asked_for() -> None:
    def unread(records: pa.RecordBatch) -> Decoded:
        error = RecordError("unknown_schema", "nobody has asked")
        return Decoded(pa.RecordBatch.from_pylist([{"kind": None}]), {0: error}, Observed(unresolved={7}))

    router = RecordRouter(Choice({"a": ("a",)}), {"a": ID}, field="kind", field_of=unread)
    assert routed(router, batch({"kind": "a"}))[2].unresolved == {7}
