"""What stands around a record: which schema it names, in whose way, and whether it is compressed."""

from lakehouse.formats.frames.schemas import (
    RegistrySchemas,
    SchemaKind,
    SingleSchema,
    WriterSchema,
    WriterSchemas,
    framed_pieces,
    names_no_schema,
)

__all__ = [
    "RegistrySchemas",
    "SchemaKind",
    "SingleSchema",
    "WriterSchema",
    "WriterSchemas",
    "framed_pieces",
    "names_no_schema",
]
