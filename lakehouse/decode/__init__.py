"""Bytes to columns: every record becomes a row or gets a reason why not."""

from lakehouse.decode.decoded import Decoded
from lakehouse.decode.json_decoder import JsonDecoder
from lakehouse.decode.routed import Part, Routed, RoutedDecoder
from lakehouse.decode.wire import UndecodableType, small_types
from lakehouse.verdict import ErrorClass, RecordError

__all__ = [
    "Decoded",
    "ErrorClass",
    "JsonDecoder",
    "Part",
    "RecordError",
    "Routed",
    "RoutedDecoder",
    "UndecodableType",
    "small_types",
]
