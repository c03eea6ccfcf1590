"""A record is valid or its first broken rule is named, without its values; a schema that cannot be used is refused."""

import json
from decimal import Decimal
from typing import Any

import pytest

from lakehouse.formats.json_schema import JsonSchemaValidator
from lakehouse.formats.schema_errors import SchemaUnusable
from lakehouse.formats.verdict import RecordError

ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 1},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"pattern": "^[A-Z]+$"}}}},
        "state": {"enum": ["new", "paid"]},
    },
    "required": ["id"],
    "additionalProperties": False,
}


def judged(schema: Any, record: Any, *references: tuple[str, str]) -> str:
    refusal = JsonSchemaValidator(json.dumps(schema), references).check(json.dumps(record).encode())
    return refusal.message if refusal else ""


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": 7, "lines": [{"sku": "A"}], "state": "new"}, ""),
        ({"lines": []}, '"id" is a required property'),
        ({"id": 0}, "`id`: the value is less than the minimum of 1"),
        ({"id": "secret"}, '`id`: the value is not of type "integer"'),
        ({"id": 7, "lines": [{}, {"sku": "secret"}]}, '`lines[1].sku`: the value does not match "^[A-Z]+$"'),
        ({"id": 7, "state": "secret"}, '`state`: the value is not one of "new" or "paid"'),
        ({"id": 7, "more": "secret"}, "Additional properties are not allowed ('more' was unexpected)"),
    ],
)
def test_a_broken_rule_is_named_with_its_place_and_no_value(record: Any, message: str) -> None:
    assert judged(ORDER, record) == message


def test_what_is_no_json_is_refused() -> None:
    validator = JsonSchemaValidator("true")
    refusals = [validator.check(record) for record in (b"{", b'"\xff"', b'{"x": 1e400}')]
    assert [refusal and refusal.error_class for refusal in refusals] == ["not_json"] * 3
    assert validator.check(b"1") is None


def test_multiples_are_reckoned_in_decimals() -> None:
    for step, number in ((0.01, 4.35), (0.01, 1.13), (0.1, 0.3), (0.1, 0.35), (0.01, 19.999), (0.5, 2.5)):
        exact = Decimal(str(number)) % Decimal(str(step)) == 0
        assert (judged({"multipleOf": step}, number) == "") == exact, (step, number)


def test_a_dollar_is_the_end_of_the_text() -> None:
    assert judged({"pattern": "^a$"}, "a") == ""
    assert judged({"pattern": "^a$"}, "a\n") != ""


def test_formats_and_defaults_are_remarks() -> None:
    schema = {"properties": {"x": {"type": "string", "format": "date"}, "y": {"default": 1}}, "required": ["y"]}
    assert judged(schema, {"x": "no date", "y": None}) == ""
    assert judged(schema, {"x": "2026-01-01"}) == '"y" is a required property'


@pytest.mark.parametrize(
    ("base", "reference"),
    [({}, "address.json"), ({"$id": "https://shop/order.json"}, "address.json"), ({}, "https://shop/address.json")],
)
def test_references_are_those_that_the_registry_has(base: dict[str, str], reference: str) -> None:
    schema = {**base, "properties": {"to": {"$ref": reference}}}
    address = (reference, '{"required": ["city"]}')
    assert judged(schema, {"to": {"city": 1}}, address) == ""
    assert judged(schema, {"to": {}}, address) == '`to`: "city" is a required property'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"the schema is no JSON"),
        ("[]", "the schema is neither an object nor true or false"),
        ('{"type": "nothing"}', "it is no usable JSON Schema"),
        ('{"pattern": "(?=a)"}', "it is no usable JSON Schema"),
        ('{"$ref": "#/$defs/none"}', "it is no usable JSON Schema"),
        ('{"$ref": "http://127.0.0.1:1/other.json"}', "Retrieval is disabled"),
        ('{"$ref": "file:///etc/passwd"}', "Retrieval is disabled"),
        ('{"$schema": "http://nobody/schema"}', "it is no usable JSON Schema"),
        ('{"$ref": "#"}', r"it refers to itself without end, at \$ref #"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(text: str, message: str) -> None:
    with pytest.raises(SchemaUnusable, match=message):
        JsonSchemaValidator(text)


def test_a_tree_is_judged_as_deep_as_it_goes() -> None:
    validator = JsonSchemaValidator('{"type": ["object", "null"], "properties": {"x": {"$ref": "#"}}}')
    deep = b'{"x":' * 249 + b"%b" + b"}" * 249
    assert validator.check(deep % b"null") is None
    refusal = validator.check(deep % b"7")
    assert isinstance(refusal, RecordError)
    assert len(refusal.message) < 500


def test_a_pattern_takes_linear_time() -> None:
    assert judged({"pattern": "^(a+)+$"}, "a" * 100_000 + "b") != ""
