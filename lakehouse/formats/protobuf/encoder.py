"""Lines of Protobuf's JSON to messages, as somebody sends them by hand."""

from google.protobuf import json_format, struct_pb2
from google.protobuf.descriptor import Descriptor
from google.protobuf.message_factory import GetMessageClass

from lakehouse.formats.encoding import NotEncodable
from lakehouse.formats.protobuf.message_types import MessageTypes
from lakehouse.formats.schema_errors import SchemaUnusable


class ProtobufEncoder:
    """Encodes messages of one type."""

    def __init__(self, compiled: bytes, message: str = "") -> None:
        """Prepares for a type.

        Args:
            compiled: a descriptor set.
            message: the full name of the type; without one the only one of the schema.

        Raises:
            NotEncodable: there is no such type.
        """
        try:
            self._types = MessageTypes(compiled)
            self.kind: Descriptor = self._types.named(message)
        except SchemaUnusable as error:
            raise NotEncodable(error.message, remedy=error.remedy) from None
        self._class = GetMessageClass(self.kind)

    def encode(self, line: str) -> bytes:
        """A message from a line.

        Args:
            line: Protobuf's JSON: 64-bit numbers may be text, bytes are Base64, a timestamp is text.

        Raises:
            NotEncodable: it is none of this type; the message shows no value.
        """
        try:
            # The library takes an empty list for an empty message.
            json_format.Parse(line, struct_pb2.Struct(), max_recursion_depth=100)
            message = json_format.Parse(line, self._class(), max_recursion_depth=100)
            return message.SerializeToString()
        except Exception as error:  # noqa: BLE001 # the library raises what Python raises on the way
            raise NotEncodable(
                f"A line is no {self.kind.full_name} ({type(error).__name__}).",
                remedy="write Protobuf's JSON, with the fields of the schema.",
            ) from None

    @property
    def indexes(self) -> tuple[int, ...]:
        """Where the type is in its file: its place, after those of what it is nested in."""
        places: list[int] = []
        kind: Descriptor | None = self.kind
        while kind is not None:
            parent: Descriptor | None = kind.containing_type
            siblings = list(kind.file.message_types_by_name.values() if parent is None else parent.nested_types)
            places.insert(0, [sibling.full_name for sibling in siblings].index(kind.full_name))
            kind = parent
        return tuple(places)

    @property
    def rank(self) -> int:
        """Its place among all types of the file by their full names."""
        rank = 0
        while (kind := self._types.by_rank(rank)) is not None and kind.full_name != self.kind.full_name:
            rank += 1
        return rank
