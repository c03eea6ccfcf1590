"""Fields of messages that their schema does not know, counted in a sample: the library keeps them, and nobody looks."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

SAMPLE = 64
"""So many records are looked at of each batch of one type, from its beginning."""
_MOST_PATHS = 1000


def unknown_fields(messages: Iterable[Message]) -> Counter[str]:
    """Path → messages with it: `#7` of a number that the schema lacks, `[shop.note]` of an extension.

    An enum of proto2 whose number has no name is unknown as well, and its field seems absent: `color #`.
    """
    counts: Counter[str] = Counter()
    for message in messages:
        counts.update(set(_paths(message, "")))
    return counts


def _paths(message: Message, prefix: str) -> list[str]:
    by_number = message.DESCRIPTOR.fields_by_number
    paths: list[str] = []
    for unknown in UnknownFieldSet(message):
        number: int = unknown.field_number
        paths.append(f"{prefix}{by_number[number].name} #" if number in by_number else f"{prefix}#{number}")
    for field, value in message.ListFields():
        if len(paths) >= _MOST_PATHS:
            break
        if field.is_extension:
            paths.append(f"{prefix}[{field.full_name}]")
        elif field.message_type is not None:
            for inner in _messages(field, value):
                paths += _paths(inner, f"{prefix}{field.name}.")
    return paths


def _messages(field: FieldDescriptor, value: Any) -> Iterable[Message]:
    if not field.is_repeated:
        return [value]
    entry = field.message_type
    if entry is None or not entry.GetOptions().map_entry:
        return value
    return value.values() if entry.fields_by_name["value"].message_type is not None else []
