"""A Protobuf format is a file with what it imports, a descriptor set, or a registry."""

from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from lakehouse import ByField, DeclarationError, Protobuf, Stream
from lakehouse.declarations import names_schema
from lakehouse.orchestration.assets.specs import format_version

TEXT = (
    'syntax = "proto3";\nimport "parts/line.proto";\nimport "google/protobuf/any.proto";\nmessage M { Line l = 1; }\n'
)
LINE = 'syntax = "proto3"; message Line {}'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "line.proto").write_text(LINE, encoding="utf-8")
    path = tmp_path / "m.proto"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_the_schema_and_its_imports_lie_beside_the_declaration(file: Path) -> None:
    form = Protobuf(file)
    assert form.sources == (("m.proto", TEXT), ("parts/line.proto", LINE))
    assert form.descriptor_set is None
    assert not names_schema(form)
    assert not Stream(name="s", topic="s", route=ByField("x", {"a": "a.b"}), format=form).changes


def test_a_format_counts_by_what_all_of_its_files_say(file: Path) -> None:
    version = format_version(Protobuf(file))
    (file.parent / "parts" / "line.proto").write_text(LINE + "\n", encoding="utf-8")
    assert format_version(Protobuf(file)) != version
    assert format_version(Protobuf(file, "M")) != format_version(Protobuf(file))


def test_an_import_never_leaves_the_folder(file: Path) -> None:
    inside = file.parent / "parts" / "inside.proto"
    inside.write_text('import "../m.proto"; import "/etc/hostname";', encoding="utf-8")
    assert [name for name, _ in Protobuf(inside).sources] == ["inside.proto"]


def test_a_descriptor_set_is_one(tmp_path: Path) -> None:
    path = tmp_path / "m.binpb"
    files = FileDescriptorSet()
    files.file.add(name="m.proto")
    path.write_bytes(files.SerializeToString())
    assert Protobuf(path).descriptor_set == path.read_bytes()
    path.write_bytes(b"\xff")
    with pytest.raises(DeclarationError, match=r"m\.binpb is no descriptor set"):
        Protobuf(path)


def test_there_is_either_a_schema_or_a_registry(file: Path, tmp_path: Path) -> None:
    assert names_schema(Protobuf(registry=True))
    for wrong in (Protobuf, lambda: Protobuf(file, registry=True)):
        with pytest.raises(DeclarationError, match="either a schema or a registry"):
            wrong()
    with pytest.raises(DeclarationError, match="each record says which message it is"):
        Protobuf(message="M", registry=True)
    with pytest.raises(DeclarationError, match=r"none\.proto cannot be read"):
        Protobuf(tmp_path / "none.proto")
