"""Bytes to columns: every record becomes a row or gets a reason why not."""

from lakehouse.formats.json.decoder import JsonDecoder
from lakehouse.formats.json.routed import Routed, RoutedDecoder, RoutedRows
from lakehouse.formats.json.wire import UndecodableType, small_types

__all__ = [
    "JsonDecoder",
    "Routed",
    "RoutedDecoder",
    "RoutedRows",
    "UndecodableType",
    "small_types",
]
