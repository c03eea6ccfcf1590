"""A schema that applies itself to the same value again is seen; one that describes a tree, or is shared, is none."""

import pytest

from lakehouse.formats.json_schema.recursion import endless

OLD = {"$schema": "http://json-schema.org/draft-07/schema#"}
BASE = "https://json-schema.invalid/"


@pytest.mark.parametrize(
    ("schema", "circle"),
    [
        ({"$ref": "#"}, "$ref #"),
        ({"allOf": [{"$ref": "#"}]}, "$ref #"),
        ({"$dynamicRef": "#"}, "$dynamicRef #"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"not": {"$ref": "#/$defs/a"}}]}}}, "$ref #/$defs/a"),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"if": {"$ref": "#/%24defs/a~1b"}}}}, "$ref #/%24defs/a~1b"),
        ({"$defs": {"a": {"$anchor": "here", "dependentSchemas": {"x": {"$ref": "#here"}}}}}, "$ref #here"),
        ({"properties": {"x": {"oneOf": [{}, {"$ref": "#/properties/x"}]}}}, "$ref #/properties/x"),
        ({"$ref": "other.json"}, "$ref https://json-schema.invalid/"),
        ({"properties": {"x": {"$ref": "#"}}}, ""),
        ({"items": {"$ref": "#"}, "contains": {"$ref": "#"}}, ""),
        ({"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {}}}, ""),
        ({"$ref": "#/nowhere/0", "allOf": [{"$ref": "#/allOf/7"}], "not": {"$ref": "https://elsewhere/x"}}, ""),
        ({**OLD, "$ref": "#/definitions/a", "not": {"$ref": "#"}, "definitions": {"a": {}}}, ""),
        ({**OLD, "dependencies": {"x": {"$ref": "#"}, "y": ["x"]}}, "$ref #"),
        (True, ""),
    ],
)
def test_a_schema_without_end_is_seen(schema: object, circle: str) -> None:
    other = {"anyOf": [{"$ref": BASE}]}
    assert endless(schema, BASE, {f"{BASE}other.json": other} if circle.endswith(BASE) else {}) == circle
