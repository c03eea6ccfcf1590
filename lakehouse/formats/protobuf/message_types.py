"""The message types of a compiled schema, and how records say which of them they are of."""

from collections.abc import Iterable, Iterator

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from lakehouse.formats.schema_errors import SchemaUnusable

MAX_BYTES = 4 << 20
_WELL_KNOWN = {
    module.DESCRIPTOR.name: module.DESCRIPTOR.serialized_pb
    for module in (
        *(any_pb2, descriptor_pb2, duration_pb2, empty_pb2, field_mask_pb2),
        *(struct_pb2, timestamp_pb2, wrappers_pb2),
    )
}


class MessageTypes:
    """The message types of one file, which may use those of others."""

    def __init__(self, compiled: bytes) -> None:
        """Reads a compiled schema.

        Args:
            compiled: a serialized `FileDescriptorSet`; the file whose types are meant is the last. Google's well-known
                types need not be there.

        Raises:
            SchemaUnusable: it is none, or its files do not fit together.
        """
        try:
            files = FileDescriptorSet.FromString(compiled).file if len(compiled) <= MAX_BYTES else []
            if not files:
                raise SchemaUnusable("it is no descriptor set, or too large", remedy="make it with protoc.")
            self._pool = DescriptorPool()
            for file in _in_order(list(files)):
                self._pool.Add(file)
            self._file: FileDescriptor = self._pool.FindFileByName(files[-1].name)
        except (DecodeError, TypeError, KeyError, ValueError) as error:
            raise SchemaUnusable(
                f"it is no descriptor set, or lacks a file that another needs ({type(error).__name__}: {error})"[:300],
                remedy="make it with protoc --include_imports.",
            ) from None

    def named(self, name: str) -> Descriptor:
        """A message type by its full name, of any file; without a name the only one of the file.

        Raises:
            SchemaUnusable: there is no such type, or there are several and none is named.
        """
        tops = list(self._file.message_types_by_name.values())
        if not name and len(tops) == 1:
            return tops[0]
        names = ", ".join(top.full_name for top in tops)
        if not name:
            raise SchemaUnusable(f"the schema has {len(tops)} message types ({names})", remedy='say message="…".')
        try:
            return self._pool.FindMessageTypeByName(name)
        except KeyError:
            raise SchemaUnusable(
                f"the schema has no message type {name}", remedy=f"name one that it has ({names})."
            ) from None

    def by_indexes(self, indexes: tuple[int, ...]) -> Descriptor | None:
        """A message type as Confluent's frame names it: its place in the file, then in what it is nested in."""
        types = list(self._file.message_types_by_name.values())
        chosen: Descriptor | None = None
        for index in indexes:
            if index >= len(types):
                return None
            chosen = types[index]
            types = list(chosen.nested_types)
        return chosen

    def by_rank(self, rank: int) -> Descriptor | None:
        """A message type as AWS Glue's frame names it: its place among all of the file by their full names."""
        types = sorted(_all_types(self._file.message_types_by_name.values()), key=lambda kind: kind.full_name)
        return types[rank] if rank < len(types) else None


def _all_types(types: Iterable[Descriptor]) -> Iterator[Descriptor]:
    for kind in types:
        yield kind
        yield from _all_types(list(kind.nested_types))


def _in_order(files: list[FileDescriptorProto]) -> Iterator[FileDescriptorProto]:
    """Files after those that they need; those of Google where they are needed and not there."""
    by_name = {file.name: file for file in files}
    done: set[str] = set()

    def visit(name: str) -> Iterator[FileDescriptorProto]:
        if name in done:
            return
        done.add(name)
        file = by_name.get(name)
        if file is None:
            file = FileDescriptorProto.FromString(_WELL_KNOWN[name])
        for needed in file.dependency:
            yield from visit(needed)
        yield file

    for file in files:
        yield from visit(file.name)
