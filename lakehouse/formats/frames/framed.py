"""Records with what stands around them told apart from what is in them."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakehouse.formats.decoded import SchemaId
from lakehouse.formats.verdict import RecordError

Rows = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class SchemaGroup:
    """Records of one schema, each with so many bytes in front of its data.

    Attributes:
        schema: its id; 0 where records name none.
        rows: the records, ascending.
        skip: bytes in front.
        suffix: what a header says after the id: which message of the schema, for Protobuf; nothing of a record that
            names its schema in front of its value, where the same follows the id.
    """

    schema: SchemaId
    rows: Rows
    skip: int
    suffix: bytes | None = None


@dataclass(frozen=True)
class Framed:
    """Some records.

    Attributes:
        values: their bytes, inflated where they were compressed.
        groups: records by their schemas.
        errors: row → why it is in no group.
    """

    values: pa.BinaryArray
    groups: list[SchemaGroup]
    errors: dict[int, RecordError] = field(default_factory=dict[int, RecordError])


def first_bytes(values: pa.BinaryArray, count: int) -> tuple[Bytes, Rows]:
    """The first bytes of each value, with zeros where it is shorter, and how long it is; a null has none.

    Returns:
        An array of shape (values, count), and one of shape (values,).
    """
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    lengths = np.diff(offsets).astype(np.int64)
    columns = np.arange(count)
    beyond = columns >= lengths[:, None]
    if beyond.all():
        return np.zeros((len(values), count), np.uint8), lengths
    data = np.frombuffer(values.buffers()[2], np.uint8)
    places = np.minimum(offsets[:-1, None].astype(np.int64) + columns, len(data) - 1)
    first = data[places]
    first[beyond] = 0
    return first, lengths
