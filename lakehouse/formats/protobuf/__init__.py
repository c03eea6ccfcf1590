"""Protobuf records to columns, by Google's own library: whole batches, each message by the type that it is of."""

from lakehouse.formats.protobuf.compiler import compile_proto
from lakehouse.formats.protobuf.decoder import ProtobufDecoder
from lakehouse.formats.protobuf.message_types import MessageTypes

__all__ = ["MessageTypes", "ProtobufDecoder", "compile_proto"]
