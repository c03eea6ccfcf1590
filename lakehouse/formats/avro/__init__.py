"""Avro records to columns: whole batches at a time, with the schema that each was written with."""

from lakehouse.formats.avro.decoder import AvroDecoder
from lakehouse.formats.avro.nodes import parse_writer_schema

__all__ = [
    "AvroDecoder",
    "parse_writer_schema",
]
