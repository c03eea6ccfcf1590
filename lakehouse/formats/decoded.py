"""What a decoder makes of some records."""

from dataclasses import dataclass, field

import pyarrow as pa

from lakehouse.formats.verdict import RecordError


@dataclass(frozen=True, slots=True)
class Decoded:
    """The columns of some records.

    Attributes:
        batch: One row per input value, in order. Rows named in `errors` are to be ignored.
        errors: Row number to reason.
    """

    batch: pa.RecordBatch
    errors: dict[int, RecordError] = field(default_factory=dict[int, RecordError])
