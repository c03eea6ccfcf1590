"""JSON records that a JSON Schema judges before they become rows."""

from lakehouse.formats.json_schema.decoder import JsonSchemaDecoder
from lakehouse.formats.json_schema.validator import JsonSchemaValidator

__all__ = ["JsonSchemaDecoder", "JsonSchemaValidator"]
