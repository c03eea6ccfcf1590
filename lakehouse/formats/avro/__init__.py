"""Avro records to columns: whole batches at a time, with the schema that each was written with."""

from lakehouse.formats.avro.decoder import AvroDecoder
from lakehouse.formats.avro.nodes import SchemaUnusable, parse_writer_schema
from lakehouse.formats.avro.routed import RoutedAvroDecoder
from lakehouse.formats.avro.schemas import RegistrySchemas, SingleSchema, WriterSchemas

__all__ = [
    "AvroDecoder",
    "RegistrySchemas",
    "RoutedAvroDecoder",
    "SchemaUnusable",
    "SingleSchema",
    "WriterSchemas",
    "parse_writer_schema",
]
