"""Kafka keys that are a value and no JSON object: brought to the form of those that are."""

import msgspec
import pyarrow as pa


def keys_as_objects(keys: pa.BinaryArray, column: pa.Field) -> pa.BinaryArray:
    """Each key as a JSON object with one member; see `key_as_object`."""
    return pa.array([key_as_object(key, column) for key in keys.to_pylist()], keys.type)


def key_as_object(key: bytes | None, column: pa.Field) -> bytes | None:
    """A key as a JSON object with one member; one that is no value stays as it is, and is refused like any other.

    Args:
        key: UTF-8 of a text where the column is one, else of a JSON number, text or truth value.
        column: of the key, as messages call it.
    """
    if key is None:
        return None
    try:
        value = key.decode() if _is_text(column.type) else msgspec.json.decode(key)
        if isinstance(value, dict | list) or value is None:
            return key
    except (UnicodeDecodeError, msgspec.DecodeError):
        return key
    # The number as it was written: a decimal has more digits than a float.
    written = msgspec.json.encode(value) if isinstance(value, str) else key
    return b"{" + msgspec.json.encode(column.name) + b":" + written + b"}"


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
