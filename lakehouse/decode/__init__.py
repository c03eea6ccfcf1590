"""Bytes to columns: every record becomes a row or gets a reason why not."""

from lakehouse.decode.json_decoder import JsonDecoder
from lakehouse.decode.routed import Part, Routed, RoutedDecoder
from lakehouse.decode.verdict import Decoded, ErrorClass, RecordError
from lakehouse.decode.wire import UndecodableType

__all__ = ["Decoded", "ErrorClass", "JsonDecoder", "Part", "RecordError", "Routed", "RoutedDecoder", "UndecodableType"]
