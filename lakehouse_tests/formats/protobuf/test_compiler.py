"""Text becomes a descriptor set by Google's compiler, with all that it imports, or a reason that names the line."""

import base64
import sys

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from lakehouse.formats.protobuf import compile_proto, compiler
from lakehouse.formats.schema_errors import SchemaUnusable
from lakehouse_tests.formats.protobuf.writing import files

INNER = 'syntax = "proto3"; package a; message Inner { int32 x = 1; }'
OUTER = 'syntax = "proto3"; import "a/inner.proto"; message Outer { a.Inner inner = 1; }'


def test_the_file_is_the_last_and_what_it_imports_comes_before() -> None:
    assert files(compile_proto("outer.proto", {"outer.proto": OUTER, "a/inner.proto": INNER})) == [
        "a/inner.proto",
        "outer.proto",
    ]


def test_what_registries_let_everyone_import_need_not_be_given() -> None:
    text = """syntax = "proto3"; import "confluent/type/decimal.proto"; import "google/type/date.proto";
    import "google/protobuf/timestamp.proto";
    message M { confluent.type.Decimal d = 1; google.type.Date e = 2; google.protobuf.Timestamp t = 3; }"""
    assert set(files(compile_proto("m.proto", {"m.proto": text}))) == {
        "confluent/type/decimal.proto",
        "google/type/date.proto",
        "google/protobuf/timestamp.proto",
        "m.proto",
    }


def test_files_that_were_registered_compiled_are_taken_as_they_are() -> None:
    compiled = FileDescriptorSet.FromString(
        compile_proto("outer.proto", {"outer.proto": OUTER, "a/inner.proto": INNER})
    )
    encoded = {file.name: base64.b64encode(file.SerializeToString()).decode() for file in compiled.file}
    again = compile_proto("outer.proto", encoded)
    assert again == compiled.SerializeToString()


@pytest.mark.parametrize(
    ("name", "sources", "reason"),
    [
        ("m.proto", {"m.proto": "message M { Nothing x = 1; }"}, r"protoc refuses it \(.*m\.proto"),
        ("m.proto", {"m.proto": OUTER}, r"a/inner\.proto: File not found"),
        ("m.proto", {"m.proto": "no schema"}, "protoc refuses it"),
        ("m.proto", {"m.proto": OUTER, "../a": INNER}, "is no path of a file"),
        ("m.proto", {"m.proto": OUTER, "/a": INNER}, "is no path of a file"),
        ("m.proto", {"m.proto": "/" * (compiler.MAX_BYTES + 1)}, "more than 1 MiB"),
        ("m.proto", {"m.proto": 'syntax = "proto3"; import "m.proto";'}, "protoc refuses it"),
    ],
    ids=["unknown-type", "missing-import", "no-schema", "outside", "absolute", "too-large", "imports-itself"],
)
def test_what_is_no_schema_is_refused_with_its_reason(name: str, sources: dict[str, str], reason: str) -> None:
    with pytest.raises(SchemaUnusable, match=reason) as refusal:
        compile_proto(name, sources)
    assert "/tmp" not in str(refusal.value)


def test_without_the_compiler_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_MODULE", "no_such_module_of_grpc")
    with pytest.raises(SchemaUnusable, match="not installed") as refusal:
        compile_proto("new.proto", {"new.proto": 'syntax = "proto3"; message New {}'})
    assert "sealed-lakehouse[protobuf]" in str(refusal.value.remedy)
    assert sys.executable not in str(refusal.value)
