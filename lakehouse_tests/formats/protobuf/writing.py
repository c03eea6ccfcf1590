"""Protobuf in tests: schemas in short, without the compiler; messages by Google's library, rows by our decoder."""

from functools import cache
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from lakehouse.formats.decoded import Decoded
from lakehouse.formats.frames import SingleSchema
from lakehouse.formats.protobuf import MessageTypes, ProtobufDecoder, compile_proto


@cache
def compiled(text: str) -> bytes:
    """A schema, compiled by protoc; `proto3` unless it says otherwise."""
    return compile_proto("test.proto", {"test.proto": text if "syntax" in text else f'syntax = "proto3"; {text}'})


@cache
def message_type(schema: bytes, name: str = "M") -> type[Message]:
    """The library's class of a message."""
    types = MessageTypes(schema)
    kind = GetMessageClass(types.named(name))
    kind.pool_of_test = types  # type: ignore[attr-defined] # it keeps the descriptors alive
    return kind


def encoded(schema: bytes, value: dict[str, Any], name: str = "M") -> bytes:
    """A message from Protobuf's JSON."""
    return ParseDict(value, message_type(schema, name)()).SerializePartialToString()


def decode(columns: pa.Schema, schema: bytes, *values: bytes | None, name: str = "M") -> Decoded:
    """Messages of one type, in columns."""
    return ProtobufDecoder(columns, SingleSchema("", schema), message=name).decode(pa.array(values, pa.binary()))


def reasons(decoded: Decoded) -> dict[int, str]:
    """Row → error class."""
    return {row: error.error_class for row, error in decoded.errors.items()}


def files(schema: bytes) -> list[str]:
    """The names of the files of a compiled schema."""
    return [file.name for file in FileDescriptorSet.FromString(schema).file]
