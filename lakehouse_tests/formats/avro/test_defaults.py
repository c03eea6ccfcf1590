"""Defaults are what Avro's own library would have written; one that is no value of its type is refused."""

import json
from typing import Any

import pytest

from lakehouse.formats.avro import parse_writer_schema
from lakehouse.formats.avro.defaults import encoded_default
from lakehouse.formats.schema_errors import SchemaUnusable
from lakehouse_tests.formats.avro.writing import encoded, record

INNER = {
    "type": "record",
    "name": "I",
    "fields": [{"name": "a", "type": "int", "default": 3}, {"name": "b", "type": "string"}],
}


@pytest.mark.parametrize(
    ("kind", "default", "value"),
    [
        ("null", None, None),
        ("boolean", True, True),
        ("int", -7, -7),
        ("long", 2**62, 2**62),
        ("float", 1.5, 1.5),
        ("double", 2, 2.0),
        ("string", "é", "é"),
        ("bytes", "\u00ff", b"\xff"),
        ({"type": "fixed", "name": "F", "size": 2}, "\u0000\u00fe", b"\x00\xfe"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "B"),
        (["null", "string"], "x", "x"),
        ({"type": "array", "items": "int"}, [1, 2], [1, 2]),
        ({"type": "map", "values": "int"}, {"k": 1}, {"k": 1}),
        (INNER, {"b": "x"}, {"a": 3, "b": "x"}),
    ],
)
def test_a_default_has_the_bytes_of_a_value(kind: Any, default: Any, value: object) -> None:
    node = parse_writer_schema(record(("x", kind))).fields[0][1]
    assert encoded_default(node, json.loads(json.dumps(default))) == encoded(record(("x", kind)), {"x": value})


@pytest.mark.parametrize(
    ("kind", "default"),
    [("int", 2**31), ("int", True), ("string", 1), ("bytes", "\u0100"), (["null", "int"], "x"), (INNER, {})],
)
def test_a_default_of_another_type_is_refused(kind: Any, default: Any) -> None:
    node = parse_writer_schema(record(("x", kind))).fields[0][1]
    with pytest.raises(SchemaUnusable, match="is no value of it"):
        encoded_default(node, default)
