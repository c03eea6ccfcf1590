"""What stands around a record: which schema it names, in whose way, and whether it is compressed."""

from lakehouse.formats.frames.schemas import (
    RegistrySchemas,
    SchemaKind,
    SingleSchema,
    WriterSchema,
    WriterSchemas,
    framed_pieces,
)

__all__ = [
    "RegistrySchemas",
    "SchemaKind",
    "SingleSchema",
    "WriterSchema",
    "WriterSchemas",
    "framed_pieces",
]
