"""What a decoder makes of some records."""

from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa

from lakehouse.formats.evolution.wanted import Wanted
from lakehouse.formats.verdict import RecordError

SchemaId = int | str
"""What a registry calls a schema: a number, or a UUID as text."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a decoder has seen of the schemas of some records.

    Attributes:
        schemas: id of a schema → records that name it; nothing where records name none.
        extra: field that the table does not have → records of a schema with it.
        refused: table, or route to one → records that its own decoder refused.
        unmade: table that records name and that is not there yet → records.
        unresolved: ids that nobody has asked the registry for yet; their records are refused until then.
        wanted: table whose columns follow its records → what these have.
    """

    schemas: Counter[str] = field(default_factory=Counter[str])
    extra: Counter[str] = field(default_factory=Counter[str])
    unresolved: set[SchemaId] = field(default_factory=set[SchemaId])
    wanted: dict[str, Wanted] = field(default_factory=dict[str, Wanted])
    refused: Counter[str] = field(default_factory=Counter[str])
    unmade: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True, slots=True)
class Decoded:
    """The columns of some records.

    Attributes:
        batch: One row per input value, in order. Rows named in `errors` are to be ignored.
        errors: Row number to reason.
        observed: Of their schemas.
    """

    batch: pa.RecordBatch
    errors: dict[int, RecordError] = field(default_factory=dict[int, RecordError])
    observed: Observed = field(default_factory=Observed)
