"""A line is sent as it is, or not at all."""

import pytest

from lakehouse.formats.encoding import NotEncodable
from lakehouse.formats.json_schema.encoder import JsonSchemaEncoder


def test_a_valid_line_is_sent_as_it_is() -> None:
    assert JsonSchemaEncoder('{"required": ["x"]}').encode('{ "x": 1.50}') == b'{ "x": 1.50}'


@pytest.mark.parametrize("line", ["{}", "{", '{"x":' * 300 + "1" + "}" * 300])
def test_another_line_is_refused(line: str) -> None:
    with pytest.raises(NotEncodable, match="A line"):
        JsonSchemaEncoder('{"required": ["x"], "properties": {"x": {"type": "integer"}}}').encode(line)


def test_a_schema_that_is_none_is_refused() -> None:
    with pytest.raises(NotEncodable, match="refers to itself without end"):
        JsonSchemaEncoder('{"$ref": "#"}')
