"""How records are encoded that are left as they are, or are in Avro; and which part of a record a column holds."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import fastavro.schema
import msgspec
from fastavro.schema import SchemaParseException, UnknownType

from lakehouse.declarations.columns.column import Column
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.record_parts import HEADERS, KEY, VALUE
from lakehouse.declarations.formats.schema_file import schema_file


@dataclass(frozen=True)
class Raw:
    """Records as they are: nothing is decoded, and the table has `key`, `value` and `headers`, or some of them."""


@dataclass(frozen=True)
class Avro:
    """Records in Avro.

    Attributes:
        schema: a file beside the declaration, `Path(__file__).with_name("orders.avsc")`. All records are of this
            schema; with `registry`, it is the reader's: its defaults and aliases count where a writer's lacks fields.
        registry: whether each record names its schema, in the way of Confluent or of AWS Glue; the schemas come
            from the registries of the Kafka settings.
    """

    schema: Path | None = None
    registry: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: there is no schema, or what is there is none.
        """
        if self.schema is None and not self.registry:
            raise DeclarationError(
                "Avro: neither a schema nor a registry.",
                remedy='write Avro(Path(__file__).with_name("….avsc")) or Avro(registry=True).',
            )
        _ = self.text

    @cached_property
    def text(self) -> str | None:
        """What is in the file of the schema; nothing without one."""
        if self.schema is None:
            return None
        try:
            with schema_file("Avro", self.schema) as file:
                text = file.read_text(encoding="utf-8")
            parsed: Any = msgspec.json.decode(text)
            fastavro.schema.parse_schema(parsed, _force=True)
        except (ValueError, TypeError, KeyError, SchemaParseException, UnknownType) as error:
            raise DeclarationError(
                f"Avro: {self.schema} holds no Avro schema ({type(error).__name__}: {error}).",
                remedy="correct the file.",
            ) from None
        return text


def record_part(form: object, column: Column) -> str:
    """The part of the record that a column holds; of raw records columns of such names do so anyway."""
    if column.record or not isinstance(form, Raw):
        return column.record
    return column.name if column.name in (KEY, VALUE, HEADERS) else ""
