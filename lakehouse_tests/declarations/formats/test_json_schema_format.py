"""A JSON Schema lies beside the declaration, or in a registry."""

from pathlib import Path

import pytest

from lakehouse import DeclarationError, JsonSchema, Stream, ToTable
from lakehouse.declarations import names_schema
from lakehouse.orchestration.assets.specs import format_version


def test_the_schema_lies_beside_the_declaration(tmp_path: Path) -> None:
    file = tmp_path / "things.schema.json"
    file.write_text('{"type": "object"}', encoding="utf-8")
    form = JsonSchema(file)
    assert form.text == '{"type": "object"}'
    assert not names_schema(form)
    assert names_schema(JsonSchema(registry=True))
    assert not Stream(name="s", topic="s", route=ToTable("a.b"), format=form).changes
    version = format_version(form)
    file.write_text('{"type": "object" }', encoding="utf-8")
    assert format_version(JsonSchema(file)) != version


def test_there_is_either_a_schema_or_a_registry(tmp_path: Path) -> None:
    for wrong in (JsonSchema, lambda: JsonSchema(tmp_path / "x.json", registry=True)):
        with pytest.raises(DeclarationError, match="either a schema or a registry"):
            wrong()


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"type": 7}', b"\xff"])
def test_a_file_that_holds_no_schema_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "things.schema.json"
    file.write_bytes(content)
    with pytest.raises(DeclarationError, match=r"things\.schema\.json holds no JSON Schema"):
        JsonSchema(file)
    with pytest.raises(DeclarationError, match=r"none\.json cannot be read"):
        JsonSchema(tmp_path / "none.json")
