"""Records in JSON that a JSON Schema judges: it lies beside the declaration, or in a registry."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.formats.schema_file import schema_file


@dataclass(frozen=True)
class JsonSchema:
    """Records in JSON, of which those become rows that are valid against a JSON Schema.

    Attributes:
        schema: a file beside the declaration, `Path(__file__).with_name("orders.schema.json")`. It refers to nothing
            outside itself.
        registry: whether each record names its schema, in the way of Confluent or of AWS Glue, in the place of a file;
            the schemas come from the registries of the Kafka settings.
    """

    schema: Path | None = None
    registry: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: there is no schema or two, or what is there is none.
        """
        if (self.schema is None) == (not self.registry):
            raise DeclarationError(
                "JsonSchema: either a schema or a registry.",
                remedy='write JsonSchema(Path(__file__).with_name("….schema.json")) or JsonSchema(registry=True).',
            )
        _ = self.text

    @cached_property
    def text(self) -> str | None:
        """What is in the file of the schema; nothing without one."""
        if self.schema is None:
            return None
        from jsonschema_rs import ValidationError, meta

        try:
            with schema_file("JsonSchema", self.schema) as file:
                text = file.read_text(encoding="utf-8")
            meta.validate(msgspec.json.decode(text))
        except (ValueError, ValidationError) as error:
            why = str(error).partition("\n")[0]
            raise DeclarationError(
                f"JsonSchema: {self.schema} holds no JSON Schema ({why}).", remedy="correct the file."
            ) from None
        return text
