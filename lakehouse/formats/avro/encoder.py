"""Lines of Avro's JSON encoding to records, as somebody sends them by hand."""

import json
from io import BytesIO, StringIO
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from lakehouse.formats.encoding import NotEncodable


class AvroEncoder:
    """Encodes records of one schema."""

    def __init__(self, schema: str) -> None:
        """Prepares for a schema.

        Args:
            schema: JSON.

        Raises:
            NotEncodable: it is no Avro schema.
        """
        try:
            self._schema: Any = fastavro.parse_schema(json.loads(schema))
        except (ValueError, TypeError, KeyError, SchemaParseException, UnknownType) as error:
            raise NotEncodable(
                f"The schema is no Avro schema ({type(error).__name__}: {error}).", remedy="correct it."
            ) from None

    def encode(self, line: str) -> bytes:
        """A record from a line.

        Args:
            line: Avro's JSON encoding: a value of a union names its branch, `{"string": "x"}`.

        Raises:
            NotEncodable: it is none of this schema; the message shows no value.
        """
        out = BytesIO()
        try:
            json.loads(line)
            [value] = fastavro.json_reader(StringIO(line), self._schema)
            fastavro.schemaless_writer(out, self._schema, value)
        except Exception as error:  # noqa: BLE001 # fastavro raises what Python raises on the way
            raise NotEncodable(
                f"A line is no record of the schema ({type(error).__name__}).",
                remedy='write Avro\'s JSON encoding, in which a value of a union is {"<branch>": value}, or null.',
            ) from None
        return out.getvalue()
