"""The folder of a partition's files: short, of plain letters, and without a text of any record.

Iceberg keeps partition values in its manifests and asks for nothing in a path. A path has bounds that a value has not:
255 bytes for a folder's name on a disk, 1,024 for a key in most object stores; and it is shown wherever its file is.
So texts and bytes are there as a digest, and what is short by its type (a day, a number, a bucket) as it is.
"""

import hashlib
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote_plus

from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.types import BinaryType, IcebergType, StringType

_DIGITS = 16
_NAME_LENGTH = 64


class Folders:
    """Names the folders of one partition spec."""

    def __init__(self, spec: PartitionSpec, schema: Schema) -> None:
        self._fields = spec.fields
        self._types = [field.field_type for field in spec.partition_type(schema).fields]

    def path(self, partition: Sequence[Any]) -> str:
        """`name=value` for each field, with slashes between; two partitions may share a folder.

        Args:
            partition: Values in Iceberg's internal form.
        """
        parts = zip(self._fields, self._types, partition, strict=True)
        return "/".join(f"{_name(field)}={_value(field, kind, value)}" for field, kind, value in parts)


def _name(field: PartitionField) -> str:
    name = quote_plus(field.name, safe="")
    return name if len(name) <= _NAME_LENGTH else _digest(field.name.encode())


def _value(field: PartitionField, kind: IcebergType, value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(kind, StringType | BinaryType):
        return _digest(value.encode() if isinstance(value, str) else bytes(value))
    try:
        return quote_plus(field.transform.to_human_string(kind, value), safe="")
    except (OverflowError, ValueError):  # no date of Python's: the number that Iceberg has
        return str(value)


def _digest(value: bytes) -> str:
    return hashlib.sha256(value).hexdigest()[:_DIGITS]
