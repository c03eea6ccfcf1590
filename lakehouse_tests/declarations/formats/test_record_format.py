"""A format says which schema records have, and a schema that is none is refused where it is declared."""

from pathlib import Path

import pytest

from lakehouse import Avro, ByField, DeclarationError, Raw, Stream, ToTable
from lakehouse.orchestration.assets.specs import format_version

SCHEMA = '{"type": "record", "name": "R", "fields": []}'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "r.avsc"
    path.write_text(SCHEMA, encoding="utf-8")
    return path


def test_the_schema_lies_beside_the_declaration(file: Path) -> None:
    stream = Stream(name="s", topic="s", route=ToTable("a.b"), format=Avro(file))
    assert isinstance(stream.format, Avro)
    assert stream.format.text == SCHEMA
    assert not stream.changes


def test_a_format_counts_by_what_its_schema_says(file: Path) -> None:
    moved = file.rename(file.with_name("other.avsc"))
    version = format_version(Avro(moved))
    moved.write_text(SCHEMA.replace("R", "Q"), encoding="utf-8")
    assert version == ("avro", SCHEMA, False)
    assert format_version(Avro(moved)) != version
    assert (format_version("json"), format_version(Raw())) == ("json", "raw")


def test_without_schema_or_registry_there_is_no_avro() -> None:
    with pytest.raises(DeclarationError, match="neither a schema nor a registry"):
        Avro()
    assert Avro(registry=True).text is None


@pytest.mark.parametrize("text", ["", "{}", '{"type": "record"}', '"Missing"'])
def test_a_file_without_a_schema_is_refused(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DeclarationError, match=r"r\.avsc holds no Avro schema"):
        Avro(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=r"none\.avsc cannot be read \(No such file or directory\)"):
        Avro(tmp_path / "none.avsc")


def test_a_raw_record_has_no_field_that_chooses_a_table() -> None:
    with pytest.raises(DeclarationError, match="a raw record has no field kind"):
        Stream(name="s", topic="s", route=ByField("kind", {"a": "a.b"}), format=Raw())
