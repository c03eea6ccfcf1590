"""A schema that no limit would hold for is refused; a good one is a tree."""

import json

import pytest

from lakehouse.formats.avro import parse_writer_schema
from lakehouse.formats.avro.nodes import AvroType
from lakehouse.formats.schema_errors import SchemaUnusable
from lakehouse_tests.formats.avro.writing import record


def test_named_types_are_written_out_where_they_are_used() -> None:
    point = {"type": "record", "name": "Point", "namespace": "geo", "fields": [{"name": "x", "type": "int"}]}
    node = parse_writer_schema(record(("a", point), ("b", ["null", "geo.Point"])))
    expected = AvroType("record", name="Point", fields=(("x", AvroType("int")),))
    assert node.fields == (("a", expected), ("b", AvroType("union", parts=(AvroType("null"), expected))))


def test_a_schema_may_refer_to_others_that_stand_before_it() -> None:
    inner = record(("x", "int"), name="Inner", namespace="shop")
    node = parse_writer_schema(inner, record(("inner", "shop.Inner")))
    assert node.fields[0][1].fields == (("x", AvroType("int")),)
    with pytest.raises(SchemaUnusable, match="no Avro schema"):
        parse_writer_schema(record(("inner", "shop.Inner")))


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"type": "int", "logicalType": "date"}, AvroType("int", "date")),
        ({"type": "string", "logicalType": "date"}, AvroType("string")),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
            AvroType("bytes", "decimal", precision=4, scale=2),
        ),
        ({"type": "long", "logicalType": "of-our-own"}, AvroType("long")),
        ({"type": "fixed", "name": "a.F", "size": 16, "logicalType": "uuid"}, AvroType("fixed", "uuid", "F", size=16)),
    ],
)
def test_a_logical_type_counts_where_the_specification_allows_it(declared: object, expected: AvroType) -> None:
    assert parse_writer_schema(record(("x", declared))).fields == (("x", expected),)


def doubling(levels: int) -> str:
    kind: object = {"type": "record", "name": "T0", "fields": [{"name": "x", "type": "int"}]}
    for level in range(1, levels):
        fields = [{"name": "a", "type": kind}, {"name": "b", "type": f"T{level - 1}"}]
        kind = {"type": "record", "name": f"T{level}", "fields": fields}
    return json.dumps(kind)


def deep(levels: int) -> str:
    return '{"type":"array","items":' * levels + '"int"' + "}" * levels


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no Avro schema"),
        ('{"type": "record"}', "no Avro schema"),
        ('"Missing"', "no Avro schema"),
        (record(("next", ["null", "Order"])), "the type Order contains itself"),
        (record(("x", {"type": "array", "items": "null"})), "items take no bytes"),
        (record(("x", {"type": "fixed", "name": "F", "size": -1})), "no number of bytes|no Avro schema"),
        (doubling(20), "more than 10,000 types"),
        (deep(80), "more than 64 levels"),
        (deep(20_000), "it is no Avro schema|nested more than 64 levels|more than 64 levels"),
        (f'"{"x" * (1 << 20)}"', "more than 1 MiB"),
    ],
    ids=["empty", "half", "unknown", "recursive", "bomb", "negative", "doubling", "deep", "very-deep", "large"],
)
def test_a_schema_without_bounds_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(SchemaUnusable, match=complaint):
        parse_writer_schema(text)
