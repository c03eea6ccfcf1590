"""Records in Protobuf: the schema lies beside the declaration, or in a registry."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.formats.schema_file import schema_file

_IMPORT = re.compile(r'\bimport\s+(?:public\s+|weak\s+|option\s+)?"([^"\n]+)"\s*;')


@dataclass(frozen=True)
class Protobuf:
    """Records in Protobuf.

    Attributes:
        schema: a file beside the declaration, `Path(__file__).with_name("orders.proto")`, whose imports are looked for
            in its folder; or a descriptor set, as `protoc --include_imports --descriptor_set_out` writes it.
        message: the full name of the message type, `shop.Order`, where the file has several.
        registry: whether each record names its schema, in the way of Confluent or of AWS Glue, in the place of a file;
            the schemas come from the registries of the Kafka settings.
    """

    schema: Path | None = None
    message: str = ""
    registry: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: there is no schema or two, or what is there is none.
        """
        if (self.schema is None) == (not self.registry):
            raise DeclarationError(
                "Protobuf: either a schema or a registry.",
                remedy='write Protobuf(Path(__file__).with_name("….proto")) or Protobuf(registry=True).',
            )
        if self.registry and self.message:
            raise DeclarationError(
                "Protobuf: with a registry, each record says which message it is.", remedy="leave message out."
            )
        _ = self.sources, self.descriptor_set

    @cached_property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """Name and text of the `.proto` file, and of what it imports from its folder; nothing without one."""
        if self.schema is None or Path(self.schema).suffix != ".proto":
            return ()
        folder, name = Path(self.schema).parent, Path(self.schema).name
        texts = {name: _read(Path(self.schema)).decode("utf-8", errors="replace")}
        pending = [name]
        while pending:
            for needed in proto_imports(texts[pending.pop()]):
                inside = not PurePosixPath(needed).is_absolute() and ".." not in PurePosixPath(needed).parts
                if needed not in texts and inside and (folder / needed).is_file():
                    texts[needed] = _read(folder / needed).decode("utf-8", errors="replace")
                    pending.append(needed)
        return tuple(texts.items())

    @cached_property
    def descriptor_set(self) -> bytes | None:
        """What is in the file, where it is a descriptor set."""
        if self.schema is None or Path(self.schema).suffix == ".proto":
            return None
        content = _read(Path(self.schema))
        try:
            files = FileDescriptorSet.FromString(content).file
        except DecodeError:
            files = []
        if not files:
            raise DeclarationError(
                f"Protobuf: {self.schema} is no descriptor set.",
                remedy="make it with protoc --include_imports --descriptor_set_out, or name a .proto file.",
            )
        return content


def proto_imports(text: str) -> list[str]:
    """The files that a `.proto` file imports."""
    return _IMPORT.findall(text)


def _read(file: Path) -> bytes:
    with schema_file("Protobuf", file) as there:
        return there.read_bytes()
