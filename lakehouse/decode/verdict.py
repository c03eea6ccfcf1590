"""What a decoder says: a batch of columns, and a reason for every record that could not become a row."""

from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

ErrorClass = Literal[
    "not_json",
    "not_an_object",
    "missing_field",
    "wrong_type",
    "out_of_range",
    "rule",
    "unknown_route",
    "tombstone",
]


@dataclass(frozen=True, slots=True)
class RecordError:
    """Why one record goes to quarantine.

    Messages of the decoders name the field and the type, never a value: a value may be sensitive, and the raw record
    is kept beside the message anyway.
    """

    error_class: ErrorClass
    message: str


TOMBSTONE = RecordError("tombstone", "the record has no value")


@dataclass(frozen=True, slots=True)
class Decoded:
    """The columns of some records.

    Attributes:
        batch: One row per input value, in order. Rows named in `errors` are to be ignored.
        errors: Row number to reason.
    """

    batch: pa.RecordBatch
    errors: dict[int, RecordError] = field(default_factory=dict[int, RecordError])
