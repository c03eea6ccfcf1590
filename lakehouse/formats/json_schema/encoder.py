"""Lines of JSON to records that are valid against a schema, as somebody sends them by hand."""

from lakehouse.formats.encoding import NotEncodable
from lakehouse.formats.json.nesting import MAX_DEPTH, too_deep
from lakehouse.formats.json_schema.validator import JsonSchemaValidator
from lakehouse.formats.schema_errors import SchemaUnusable


class JsonSchemaEncoder:
    """Sends lines as they are, if a schema says that they are valid."""

    def __init__(self, text: str) -> None:
        """Prepares for a schema.

        Raises:
            NotEncodable: it is no JSON Schema.
        """
        try:
            self._validator = JsonSchemaValidator(text)
        except SchemaUnusable as refusal:
            raise NotEncodable(f"The schema cannot be used: {refusal.message}", remedy="correct it.") from None

    def encode(self, line: str) -> bytes:
        """A record from a line.

        Raises:
            NotEncodable: it is not valid; the message shows no value.
        """
        record = line.encode()
        if too_deep(record):
            raise NotEncodable(f"A line nests more than {MAX_DEPTH} levels deep.", remedy="correct it.")
        error = self._validator.check(record)
        if error is not None:
            raise NotEncodable(f"A line is no record of the schema ({error.message}).", remedy="correct the line.")
        return record
