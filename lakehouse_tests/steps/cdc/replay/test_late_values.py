"""A JSON value is read back from its text; that Spark reads the same text is shown in `test_late_columns`."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.steps.cdc.replay.late_values import java_double, late_texts


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.text())
def test_a_value_that_json_wrote_is_read_back(value: float | str) -> None:
    (text,) = late_texts([json.dumps({"x": value})], ["x"])["x"]
    assert type(value)(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (9999999.5, "9999999.5"),
        (1e7, "1.0E7"),
        (-1.25e-10, "-1.25E-10"),
        (-0.0, "-0.0"),
    ],
)
def test_doubles_are_written_as_java_does(value: float, text: str) -> None:
    assert java_double(value) == text


def test_what_has_no_such_field_has_no_text() -> None:
    assert late_texts([None, "{}", "[1]", "{", '{"x": null}', '{"x": "1"}'], ["x"])["x"].to_list() == [None] * 5 + ["1"]
