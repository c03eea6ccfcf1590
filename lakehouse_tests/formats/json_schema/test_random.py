"""Verdicts against the reference in Python, `jsonschema`, on random schemas of all drafts and random records."""

import json
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakehouse.formats.frames import SingleSchema
from lakehouse.formats.json_schema import JsonSchemaDecoder, JsonSchemaValidator
from lakehouse_tests.formats.json_schema.random_schemas import RECORDS, SCHEMAS, VALUES

EXAMPLES = [40, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.slow])]


@pytest.mark.parametrize("examples", EXAMPLES, ids=["short", "long"])
def test_verdicts_are_those_of_the_reference(examples: int) -> None:
    @settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(SCHEMAS, st.lists(VALUES, min_size=1, max_size=6), st.lists(RECORDS, min_size=1, max_size=4))
    def check(schema: dict[str, Any], values: list[Any], records: list[dict[str, Any]]) -> None:
        reference = jsonschema.validators.validator_for(schema)
        reference.check_schema(schema)
        judge = reference(schema)
        validator = JsonSchemaValidator(json.dumps(schema))
        for value in [*values, *records]:
            refusal = validator.check(json.dumps(value).encode())
            assert (refusal is None) == judge.is_valid(value), value
            assert refusal is None or refusal.error_class == "breaks_schema"
        decoder = JsonSchemaDecoder(pa.schema([]), SingleSchema(json.dumps(schema), kind="JSON"))
        decoded = decoder.decode(pa.array([json.dumps(record).encode() for record in records], pa.binary()))
        refused = [row for row, record in enumerate(records) if not judge.is_valid(record)]
        assert sorted(decoded.errors) == refused

    check()
