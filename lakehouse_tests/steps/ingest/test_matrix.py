"""Each format with each registry by each kind of route: counts, and the proof; pairs of them on every run of tests."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import (
    Avro,
    ByField,
    ByTopic,
    DeclarationError,
    JsonSchema,
    Mixed,
    Protobuf,
    Raw,
    RecordFormat,
    Route,
    Stream,
    TopicPattern,
    ToTable,
)
from lakehouse.engines.kafka import Record, create_topic, send
from lakehouse.engines.registries import ConfluentRegistry
from lakehouse.formats.frames.confluent import write_frame
from lakehouse.formats.protobuf import compile_proto
from lakehouse.formats.protobuf.encoder import ProtobufEncoder
from lakehouse.formats.protobuf.message_indexes import write_confluent_indexes, write_glue_rank
from lakehouse.settings import GlueRegistrySettings, RegistrySettings
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.glue import glue_framed
from lakehouse_tests.formats.avro.writing import encoded, record
from lakehouse_tests.steps.ingest.conftest import Landing, MakeLanding

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

FORMS, REGISTRIES, ROUTES = (
    ("json", "avro", "protobuf", "raw"),
    ("none", "confluent", "glue"),
    ("one", "field", "topics"),
)
PAIRS = (
    *(("json", "none", "one"), ("json", "confluent", "field"), ("json", "glue", "topics")),
    *(("avro", "none", "field"), ("avro", "confluent", "topics"), ("avro", "glue", "one")),
    *(("protobuf", "none", "topics"), ("protobuf", "confluent", "one"), ("protobuf", "glue", "field")),
    *(("raw", "none", "topics"), ("raw", "confluent", "one"), ("raw", "glue", "topics")),
)
"""Each two values of two of the three are together in one of these, but for a raw record, which has no field."""
CASES = [
    case if case in PAIRS else pytest.param(*case, marks=pytest.mark.soak)
    for case in product(FORMS, REGISTRIES, ROUTES)
    if case[::2] != ("raw", "field")
]
AVRO = record(("kind", "string"), ("id", "long"))
PROTO = 'syntax = "proto3"; message Thing { string kind = 1; int64 id = 2; }'
SCHEMA = '{"properties": {"kind": {"type": "string"}, "id": {"type": "integer"}}}'
THING = ProtobufEncoder(compile_proto("thing.proto", {"thing.proto": PROTO}))
COLUMNS = {"id": pandera.Column(T.LongType(), nullable=False), "kind": T.StringType()}
RAW_COLUMNS = {"key": T.BinaryType(), "value": T.BinaryType()}
A, B = "raw.a", "raw.b"
SENT = [("a", 0), ("b", 1), ("a", 2), ("b", 3), ("a", 4)]
Encode = Callable[[str, int], bytes]


def plain(form: str) -> Encode:
    """A record without what stands around it; raw ones are Avro that nobody looks into."""
    return {
        "json": lambda kind, number: json.dumps({"kind": kind, "id": number}).encode(),
        "protobuf": lambda kind, number: THING.encode(json.dumps({"kind": kind, "id": number})),
    }.get(form, lambda kind, number: encoded(AVRO, {"kind": kind, "id": number}))


def declared(form: str, folder: Path, *, registry: bool) -> RecordFormat:
    """The format of a stream."""
    schema = folder / "thing.avsc"
    schema.write_text(AVRO, encoding="utf-8")
    (folder / "thing.proto").write_text(PROTO, encoding="utf-8")
    if form == "raw":
        return Raw()
    if form == "avro":
        return Avro(registry=True) if registry else Avro(schema)
    if form == "protobuf":
        return Protobuf(registry=True) if registry else Protobuf(folder / "thing.proto")
    return JsonSchema(registry=True) if registry else "json"


def framed(form: str, registry: str, topic: str, confluent: RegistrySettings, glue: GlueRegistrySettings) -> Encode:
    """Records with what stands in front of them; the schema is registered."""
    write = plain(form)
    if registry == "none":
        return write
    kind, text = {"json": ("JSON", SCHEMA), "protobuf": ("PROTOBUF", PROTO)}.get(form, ("AVRO", AVRO))
    if registry == "confluent":
        front = write_frame(ConfluentRegistry(confluent).register(f"{topic}-value", text, kind))
        front += write_confluent_indexes(THING.indexes) if form == "protobuf" else b""
        return lambda kind, number: front + write(kind, number)
    frame, rank = glue_framed(glue, topic, text, kind, compress=True), write_glue_rank(THING.rank)
    return lambda kind, number: frame((rank if form == "protobuf" else b"") + write(kind, number))


def routed(made: Landing, route: str, form: RecordFormat) -> Landing:
    """The stream of a case, with its tables and topics."""
    topic, more = made.stream.topic, {"format": form, "max_quarantine_share": 1.0}
    topics: Mapping[str, object] = {"topic": topic}
    chosen: Route = ToTable(A)
    if route == "field":
        chosen = ByField("kind", {"a": A, "b": B})
    elif route == "topics":
        chosen, topics = ByTopic({f"{topic}.a": A, f"{topic}.b": B}), {"topics": TopicPattern(f"{topic}[.].+")}
        for kind in "ab":
            create_topic(made.kafka, f"{topic}.{kind}", 1)
    stream = Stream(name="things", route=chosen, **topics, **more)  # type: ignore[arg-type]
    columns = RAW_COLUMNS if isinstance(form, Raw) else COLUMNS
    return made.declare(stream, *(declare(dict(columns), name) for name in stream.tables))


def arrive(stream: Landing, topic: str, route: str, records: Iterable[tuple[str, bytes | None]]) -> None:
    """To the topic of their kind, or to the one topic."""
    by_topic: dict[str, list[Record]] = {}
    for kind, value in records:
        name = f"{topic}.{kind}" if route == "topics" else topic
        by_topic.setdefault(name, []).append(Record(value, partition=0))
    for name, of_topic in by_topic.items():
        send(stream.kafka, name, of_topic)


@pytest.mark.parametrize(("form", "registry", "route"), CASES)
def test_counts_and_proof(
    landing: MakeLanding,
    schema_registry: RegistrySettings,
    glue_registry: GlueRegistrySettings,
    tmp_path: Path,
    form: str,
    registry: str,
    route: str,
) -> None:
    made = landing()
    topic = made.stream.topic
    settings = {"schema_registry": schema_registry, "glue_registry": glue_registry} if registry != "none" else {}
    made = replace(made, kafka=made.kafka.model_copy(update=settings))
    encode = framed(form, registry, topic, schema_registry, glue_registry)
    stream = routed(made, route, declared(form, tmp_path, registry=registry != "none"))
    values = [(kind, encode(kind, number)) for kind, number in SENT]
    arrive(stream, topic, route, [*values, ("a", b"\xff"), ("b", None)])
    report = stream.ingest()

    of = (
        {A: [n for k, n in SENT if k == "a"], B: [n for k, n in SENT if k == "b"]}
        if route != "one"
        else {A: [n for _, n in SENT]}
    )
    if form == "raw":
        kept = {v for _, v in values} | {b"\xff", None}
        assert {v for name in of for v in stream.column(name, "value")} == kept
        assert stream.quarantined() == []
    else:
        assert {name: sorted(stream.column(name, "id")) for name in of} == of
        assert {row["kind"] for name in of for row in stream.rows(name)} == {"a", "b"}
        broken = {"json": "not_json", "avro": "not_avro", "protobuf": "not_protobuf"}[form]
        expected = {broken if registry == "none" else "no_schema_id", "tombstone"}
        assert {error for _, error in stream.quarantined()} == expected
    assert sum(report.rows.values()) == len(SENT) + 2
    assert stream.holds().read == len(SENT) + 2


def test_wire_formats_in_one_topic_are_told_apart_record_by_record(
    landing: MakeLanding, schema_registry: RegistrySettings, glue_registry: GlueRegistrySettings
) -> None:
    form = Mixed("json", Avro(registry=True), Protobuf(registry=True))
    both = {"schema_registry": schema_registry, "glue_registry": glue_registry}
    made = landing()
    topic = made.stream.topic
    stream = routed(replace(made, kafka=made.kafka.model_copy(update=both)), "field", form)
    ways = [("json", "none"), ("avro", "confluent"), ("protobuf", "glue"), ("avro", "glue"), ("protobuf", "confluent")]
    # Each schema has a subject of its own: one subject takes schemas of one kind.
    encoders = [
        framed(form, registry, f"{topic}-{n}", schema_registry, glue_registry)
        for n, (form, registry) in enumerate(ways)
    ]
    values = [encode("ab"[n % 2], 10 * n + turn) for turn in range(2) for n, encode in enumerate(encoders)]
    arrive(stream, topic, "field", [("", value) for value in [*values, b"\xff", values[1][:-1], None]])
    report = stream.ingest()
    assert stream.column(A, "id") == [0, 20, 40, 1, 21, 41]
    assert stream.column(B, "id") == [10, 30, 11, 31]
    assert stream.quarantined() == [(10, "not_json"), (11, "not_avro"), (12, "tombstone")]
    assert sorted(report.schemas.values()) == [2, 2, 2, 3]
    assert stream.holds().read == 13


def test_a_raw_record_has_no_field_that_could_choose() -> None:
    with pytest.raises(DeclarationError, match="a raw record has no field"):
        Stream(name="things", topic="t", route=ByField("kind", {"a": A}), format=Raw())
