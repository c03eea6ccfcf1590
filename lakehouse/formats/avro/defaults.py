"""Defaults of a reader's schema, in the bytes that a writer would have written: they are read like everything else."""

import struct
from typing import Any, cast

from lakehouse.formats.avro.nodes import AvroType
from lakehouse.formats.schema_errors import SchemaUnusable


def encoded_default(node: AvroType, default: Any) -> bytes:
    """A default in Avro's bytes.

    Args:
        node: the type of the field.
        default: what the schema says, as JSON; bytes are text with a letter for each byte.

    Raises:
        SchemaUnusable: it is no value of the type.
    """
    try:
        return _encoded(node, default)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, struct.error) as error:
        raise SchemaUnusable(f"a default of type {node.branch} is no value of it", remedy="correct it.") from error


def _encoded(node: AvroType, default: Any) -> bytes:  # noqa: PLR0911 # one return a type
    match node.kind:
        case "null":
            return _only(default is None, b"")
        case "boolean":
            return _only(isinstance(default, bool), b"\x01" if default else b"\x00")
        case "int" | "long":
            bits = 32 if node.kind == "int" else 64
            whole = isinstance(default, int) and not isinstance(default, bool) and -(1 << bits - 1) <= default
            return _only(whole and default < 1 << bits - 1, _number(default))
        case "float" | "double":
            number = isinstance(default, int | float) and not isinstance(default, bool)
            return _only(number, struct.pack("<f" if node.kind == "float" else "<d", default))
        case "string" | "bytes":
            text = default.encode("utf-8" if node.kind == "string" else "latin-1")
            return _number(len(text)) + text
        case "fixed":
            content = default.encode("latin-1")
            return _only(len(content) == node.size, content)
        case "enum":
            return _number(node.symbols.index(default))
        case "record":
            return b"".join(_encoded(part, _member(node, name, default)) for name, part in node.fields)
        case "union":
            return _branch(node, default)
        case _:
            return _items(node, default)


def _member(node: AvroType, name: str, default: dict[str, Any]) -> Any:
    return default[name] if name in default else node.defaults[name]


def _branch(node: AvroType, default: Any) -> bytes:
    """Of the first branch that it is a value of; older writers of schemas mean the first of all."""
    for number, part in enumerate(node.parts):
        try:
            return _number(number) + encoded_default(part, default)
        except SchemaUnusable:
            continue
    raise ValueError("of no branch")


def _items(node: AvroType, default: Any) -> bytes:
    part = node.parts[0]
    if node.kind == "array":
        items = [_encoded(part, item) for item in cast("list[Any]", _only(isinstance(default, list), default))]
    else:
        entries = cast("dict[str, Any]", default).items()
        items = [_encoded(AvroType("string"), key) + _encoded(part, item) for key, item in entries]
    return (_number(len(items)) + b"".join(items) if items else b"") + b"\x00"


def _only(fits: bool, value: Any) -> Any:  # noqa: FBT001 # reads as a guard
    if not fits:
        raise ValueError("of another type")
    return value


def _number(value: int) -> bytes:
    zigzag = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while zigzag > 0x7F:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    encoded.append(zigzag)
    return bytes(encoded)
